#!/usr/bin/env bash
# Tests palladion-object-store with an S3 server, and runs its example with Parquet.
#
# Needs python3 with venv; installs moto, the server, into target/object-store/ and stops it at the
# end. moto enforces S3's rule that parts have at least 5 MiB. The first run takes two minutes of
# two cores to install and compile, later ones ten seconds.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "${CARGO_TARGET_DIR:-target}/object-store"
target=$(cd "${CARGO_TARGET_DIR:-target}/object-store" && pwd)
python=$target/venv/bin/python
[ -x "$python" ] || python3 -m venv "$target/venv"
"$python" -m pip install --quiet --disable-pip-version-check 'moto[server]==5.2.5'

manifest=examples/object-store/Cargo.toml
export CARGO_TARGET_DIR=$target
cargo run --quiet --locked --manifest-path "$manifest"
cargo test --quiet --locked --manifest-path "$manifest" --no-run

# A port that is free now.
port=$("$python" -c 'import socket
print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
export PALLADION_S3=http://127.0.0.1:$port
"$target/venv/bin/moto_server" -H 127.0.0.1 -p "$port" >"$target/moto.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
"$python" - <<'END'
import boto3, os, time
import botocore.exceptions

s3 = boto3.client("s3", endpoint_url=os.environ["PALLADION_S3"], region_name="us-east-1",
                  aws_access_key_id="test", aws_secret_access_key="test")
for attempt in range(100):
    try:
        s3.list_buckets()
        break
    except botocore.exceptions.EndpointConnectionError:
        time.sleep(0.2)
for bucket in ["integration", "versions", "uploads", "ranges"]:
    s3.create_bucket(Bucket=bucket)
s3.put_bucket_versioning(Bucket="versions", VersioningConfiguration={"Status": "Enabled"})
END
cargo test --quiet --locked --manifest-path "$manifest"
