// Package compress encodes response bodies as they stream, and parses Accept-Encoding. It is
// the only importer of the gzip, zstd and brotli libraries.
//
//	pool.Get(coding, level)     an encoder of this loop, or nil if their memory is used up
//	e.Write(dst, p)             appends the available output for p to dst
//	e.Flush(dst)                appends all output, so that the client can decode it
//	e.Close(dst)                appends the end of the body
//	pool.Put(e)                 returns the encoder
//
// A Pool and its encoders belong to one loop and need no locks. They do not retain p or dst.
//
// # Memory
//
// Encoders consist mostly of tables, then of their window. The smallest ones in the
// libraries take 0.4 MiB, medium ones 1 to 1.5. variants lists the cost of each level of
// each coding, and a test enforces it. A pool may use MaxMemory for encoders in use and idle
// ones. Beyond that Get returns nil, and the response is sent uncompressed. An encoder is in
// use while a body is in progress, which mostly takes a single event, so a pool usually
// holds a few. Windows are at most 256 KiB, so clients need little memory, too (RFC 9659
// allows up to 8 MiB).
//
// # Speed
//
// The levels are chosen so that Turn bytes, the maximum of one write, take at most a
// millisecond of one core (BenchmarkTurn). JSON lists, in MB/s and relative output size, on
// a machine with other load:
//
//	        fast        default     best
//	gzip    153 0.25    114 0.23     44 0.20
//	zstd    108 0.23    140 0.23    116 0.21
//	brotli  189 0.28     61 0.22     38 0.19
package compress
