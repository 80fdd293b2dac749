/work/main/firmware/target/debug/deps/count-9692fa0c7d412307.d: count/src/main.rs

/work/main/firmware/target/debug/deps/libcount-9692fa0c7d412307.rmeta: count/src/main.rs

count/src/main.rs:
