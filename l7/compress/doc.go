// Package compress encodes the bodies of answers as they stream, and reads
// what clients accept. It is the door to the libraries of gzip, zstd and brotli.
//
//	pool.Get(coding, level)     an encoder of this loop, or nil when they use enough
//	e.Write(dst, p)             dst with the output for p so far appended
//	e.Flush(dst)                the same with all output: the client can read it
//	e.Close(dst)                the same with the end of the body
//	pool.Put(e)                 for the next body
//
// A Pool and its encoders belong to one loop and need no lock. Nothing is kept
// of p or dst.
//
// # Memory
//
// Encoders are tables first and window second; the smallest the libraries have
// take 0.4 MiB, the middle ones 1 to 1.5. What each level of each coding costs
// is in variants, and a test holds it to that. A pool has MaxMemory for those in
// use and those kept; Get gives nil beyond, and the answer goes out as it came.
// An encoder is in use while a body is under way, which for most is within one
// event, so a pool usually holds a few. Windows are at most 256 KiB, so clients
// need little too (RFC 9659 lets them have up to 8 MiB).
//
// # Speed
//
// Levels are chosen so that Turn bytes, the most that should be written at
// once, take a millisecond of one core at most (BenchmarkTurn). Lists in JSON, MB/s
// and size of what comes out, on a machine that was busy otherwise:
//
//	        fast        default     best
//	gzip    153 0.25    114 0.23     44 0.20
//	zstd    108 0.23    140 0.23    116 0.21
//	brotli  189 0.28     61 0.22     38 0.19
package compress
