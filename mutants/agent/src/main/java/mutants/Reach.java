package mutants;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import org.apache.kafka.common.TopicPartition;

/** What advice asks of classes of Kafka that the agent is not compiled against, since they move between versions. */
public final class Reach {
    private static final String METADATA = "__cluster_metadata";

    private Reach() {}

    /** The log of the quorum is replicated by Raft, with the same classes: these mutants leave it alone. */
    public static boolean isMetadata(TopicPartition partition) {
        return partition.topic().equals(METADATA);
    }

    /** The same for a file in a replica's directory. */
    public static boolean isMetadata(String path) {
        return path.contains(METADATA);
    }

    /** True in a thread that reads a coordinator's partition; records of requests are replayed in threads of another name. */
    public static boolean isLoading() {
        return !Thread.currentThread().getName().contains("event-processor");
    }

    /** Calls the one method of this name that takes arguments of these types. */
    public static Object call(Object target, String name, Object... arguments) {
        for (Class<?> type = target.getClass(); type != null; type = type.getSuperclass()) {
            for (Method method : type.getDeclaredMethods()) {
                if (method.getName().equals(name) && takes(method.getParameterTypes(), arguments)) {
                    return invoked(method, target, arguments);
                }
            }
        }
        throw new IllegalStateException("There is no method " + name + " in " + target.getClass());
    }

    public static Object field(Object target, String name) {
        for (Class<?> type = target.getClass(); type != null; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (field.getName().equals(name)) {
                    return read(field, target);
                }
            }
        }
        throw new IllegalStateException("There is no field " + name + " in " + target.getClass());
    }

    /** Fields that are final too: what a constructor has just set. */
    public static void set(Object target, String name, Object value) {
        try {
            Field field = target.getClass().getDeclaredField(name);
            field.setAccessible(true);
            field.set(target, value);
        } catch (ReflectiveOperationException trouble) {
            throw new IllegalStateException(trouble);
        }
    }

    /** The constant of that name in the same enumeration. */
    public static Object sibling(Enum<?> constant, String name) {
        for (Object each : constant.getDeclaringClass().getEnumConstants()) {
            if (((Enum<?>) each).name().equals(name)) {
                return each;
            }
        }
        throw new IllegalStateException("There is no " + name + " in " + constant.getDeclaringClass());
    }

    /** An error of the clients' library, by the name of its class. */
    public static RuntimeException error(String name, String message) {
        try {
            Class<?> type = Class.forName("org.apache.kafka.common.errors." + name);
            return (RuntimeException) type.getConstructor(String.class).newInstance(message);
        } catch (ReflectiveOperationException trouble) {
            throw new IllegalStateException(trouble);
        }
    }

    /** The constant of that name in the interface of an object whose class implements no other. */
    public static Object constant(Object like, String name) {
        try {
            return like.getClass().getInterfaces()[0].getField(name).get(null);
        } catch (ReflectiveOperationException trouble) {
            throw new IllegalStateException(trouble);
        }
    }

    /** Another object of this one's class. */
    public static Object another(Object like, Object... arguments) {
        for (Constructor<?> constructor : like.getClass().getDeclaredConstructors()) {
            if (takes(constructor.getParameterTypes(), arguments)) {
                try {
                    constructor.setAccessible(true);
                    return constructor.newInstance(arguments);
                } catch (ReflectiveOperationException trouble) {
                    throw new IllegalStateException(trouble);
                }
            }
        }
        throw new IllegalStateException("There is no such constructor of " + like.getClass());
    }

    /** A scala.util.Left of this value, from the library of another Either. */
    public static Object left(Object either, Object value) {
        try {
            Class<?> left = Class.forName("scala.util.Left", true, either.getClass().getClassLoader());
            return left.getConstructor(Object.class).newInstance(value);
        } catch (ReflectiveOperationException trouble) {
            throw new IllegalStateException(trouble);
        }
    }

    private static Object invoked(Method method, Object target, Object[] arguments) {
        method.setAccessible(true);
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException thrown) {
            throw new IllegalStateException(thrown.getCause());
        } catch (IllegalAccessException trouble) {
            throw new IllegalStateException(trouble);
        }
    }

    private static Object read(Field field, Object target) {
        field.setAccessible(true);
        try {
            return field.get(target);
        } catch (IllegalAccessException trouble) {
            throw new IllegalStateException(trouble);
        }
    }

    private static boolean takes(Class<?>[] types, Object[] arguments) {
        if (types.length != arguments.length) {
            return false;
        }
        for (int n = 0; n < types.length; n++) {
            if (!fits(types[n], arguments[n])) {
                return false;
            }
        }
        return true;
    }

    private static boolean fits(Class<?> type, Object argument) {
        return type == long.class && argument instanceof Long
                || type == int.class && argument instanceof Integer
                || type == short.class && argument instanceof Short
                || type == boolean.class && argument instanceof Boolean
                || argument == null && !type.isPrimitive()
                || type.isInstance(argument);
    }
}
