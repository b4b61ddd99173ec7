Rails.application.routes.draw do
  root "home#show"
  post "/login", to: "logins#create"
  post "/logout", to: "logins#destroy"

  resources :events, only: %i[new create show], constraints: { id: /\d{1,9}/ } do
    member do
      post :attend
      post :unattend
      post :comments
      post :rating
      post :delete
    end
  end
  post "/tags", to: "tags#search"
  get "/tags/:tag", to: "tags#show", constraints: { tag: %r{[^/]+} }, format: false
  get "/persons/new", to: "persons#new"
  post "/persons", to: "persons#create"
  get "/persons/:name", to: "persons#show", constraints: { name: %r{[^/]+} }, format: false
  post "/friends", to: "friends#create"

  match "*path", to: "application#not_found", via: :all, format: false
end
