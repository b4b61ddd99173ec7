package olio.web;

import jakarta.el.ELContext;
import jakarta.el.ELException;
import jakarta.el.ELResolver;
import jakarta.el.PropertyNotFoundException;
import jakarta.el.PropertyNotWritableException;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.util.HashMap;
import java.util.Map;

/** Lets pages read records by the names of their components, as the Expression Language of Jakarta EE 11 does. */
final class RecordResolver extends ELResolver {
    private static final ClassValue<Map<Object, Method>> COMPONENTS = new ClassValue<>() {
        @Override
        protected Map<Object, Method> computeValue(Class<?> type) {
            Map<Object, Method> components = new HashMap<>();
            for (RecordComponent component : type.getRecordComponents()) {
                components.put(component.getName(), component.getAccessor());
            }
            return components;
        }
    };

    @Override
    public Object getValue(ELContext context, Object base, Object property) {
        if (!(base instanceof Record)) {
            return null;
        }
        Method accessor = COMPONENTS.get(base.getClass()).get(property);
        if (accessor == null) {
            throw new PropertyNotFoundException(base.getClass().getSimpleName() + " has no " + property);
        }
        context.setPropertyResolved(base, property);
        try {
            return accessor.invoke(base);
        } catch (ReflectiveOperationException failure) {
            throw new ELException(failure);
        }
    }

    @Override
    public Class<?> getType(ELContext context, Object base, Object property) {
        return null;
    }

    @Override
    public void setValue(ELContext context, Object base, Object property, Object value) {
        if (base instanceof Record) {
            throw new PropertyNotWritableException();
        }
    }

    @Override
    public boolean isReadOnly(ELContext context, Object base, Object property) {
        return true;
    }

    @Override
    public Class<?> getCommonPropertyType(ELContext context, Object base) {
        return String.class;
    }
}
