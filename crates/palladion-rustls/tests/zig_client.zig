//! A web client of Zig's standard library, which prefers AEGIS too. Sends a megabyte to a server
//! that returns it. Arguments: the server's certificate (PEM), its URL.

const std = @import("std");

pub fn main(init: std.process.Init) !void {
    const args = try init.minimal.args.toSlice(init.arena.allocator());
    const now = std.Io.Clock.real.now(init.io);
    var client: std.http.Client = .{ .allocator = init.gpa, .io = init.io, .now = now };
    defer client.deinit();
    // Only this certificate is trusted.
    const cwd = std.Io.Dir.cwd();
    try client.ca_bundle.addCertsFromFilePath(init.gpa, init.io, now, cwd, args[1]);

    const sent = try init.arena.allocator().alloc(u8, 1_000_000);
    for (sent, 0..) |*byte, i| byte.* = @truncate(i *% i / 251);
    var received: std.Io.Writer.Allocating = .init(init.arena.allocator());
    const answer = try client.fetch(.{
        .location = .{ .url = args[2] },
        .payload = sent,
        .response_writer = &received.writer,
    });
    if (answer.status != .ok) return error.Refused;
    if (!std.mem.eql(u8, sent, received.written())) return error.OtherBytes;
}
