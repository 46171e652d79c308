import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Optional;
import sun.misc.Unsafe;

/**
 * Asks a Partition at leader epoch 3, without a broker around it, what it makes of a request at epoch 2, 3, 4 and without
 * an epoch; prints the four answers. Run as a single source file: java -cp 'libs/*' LeaderEpochFence.java
 */
public class LeaderEpochFence {
    public static void main(String[] args) throws Exception {
        Class<?> type = Class.forName("kafka.cluster.Partition");
        Object partition = withoutConstructor(type);
        Field epoch = type.getDeclaredField("leaderEpoch");
        epoch.setAccessible(true);
        epoch.setInt(partition, 3);
        Method check = type.getDeclaredMethod("checkCurrentLeaderEpoch", Optional.class);
        check.setAccessible(true);
        for (int asked : new int[] {2, 3, 4}) {
            System.out.println(check.invoke(partition, Optional.of(asked)));
        }
        System.out.println(check.invoke(partition, Optional.empty()));
    }

    private static Object withoutConstructor(Class<?> type) throws Exception {
        Field theUnsafe = Unsafe.class.getDeclaredField("theUnsafe");
        theUnsafe.setAccessible(true);
        return ((Unsafe) theUnsafe.get(null)).allocateInstance(type);
    }
}
