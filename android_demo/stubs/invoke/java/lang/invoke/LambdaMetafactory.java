package java.lang.invoke;

/** What javac looks up to compile a lambda. Android's class library of API 23 lacks it; Android's build needs none of it. */
public class LambdaMetafactory {
    public static CallSite metafactory(
            MethodHandles.Lookup caller,
            String name,
            MethodType factory,
            MethodType erased,
            MethodHandle implementation,
            MethodType checked) {
        return null;
    }
}

abstract class CallSite {}

abstract class MethodHandle {}

abstract class MethodType {}

class MethodHandles {
    public static final class Lookup {}
}
