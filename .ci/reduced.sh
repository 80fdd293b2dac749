# What the scripts share that test under emulators and engines, which are slow; to be sourced. It
# makes release builds of tests quick to compile, because these look at what is computed and not at
# how fast, and sets
#
#   reduced_flags   what to tell rustc: fewer variants and cases (crates/palladion/tests/common)
#   reduced         what to tell cargo (an array)

export CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true
export CARGO_INCREMENTAL=0
reduced_flags='--cfg palladion_test_reduced'
reduced=()
for package in proc_macro test data-encoding serde_core serde_json; do
    reduced+=(--config "profile.release.package.$package.opt-level=0")
done
