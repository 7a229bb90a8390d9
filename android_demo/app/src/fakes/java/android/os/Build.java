package android.os;

public class Build {
    public static final String[] SUPPORTED_ABIS = {"test-abi"};
}
