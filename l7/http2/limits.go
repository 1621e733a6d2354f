package http2

// Limits bound what one connection may cost. They are set before the first
// connection and the same for all of a Shared.
type Limits struct {
	// Streams is how many streams a client may have open at once; more are
	// refused.
	Streams int
	// HeaderList bounds the fields of one message in bytes, as
	// SETTINGS_MAX_HEADER_LIST_SIZE counts: 32 for each field besides its name
	// and value.
	HeaderList int
	// Continuations bounds the CONTINUATION frames of one header block.
	Continuations int

	// Window is the receive window a stream begins with, at least 65,535: what
	// a peer may send before it heard of our settings. It doubles up to
	// MaxWindow each time the owner has consumed as much, so that only streams
	// whose bytes move may have many on the way. ConnWindow and MaxConnWindow
	// are the same for the whole connection.
	Window, MaxWindow         int
	ConnWindow, MaxConnWindow int

	// Output bounds the bytes that wait in Output before DATA has to wait; it
	// is also the largest single write, but for heads and control frames.
	Output int
	// Control bounds the bytes of control frames in Output: beyond it the peer
	// asks for answers it does not read.
	Control int

	// Resets bounds the streams that end before their answer, by the client's
	// RST_STREAM or because it broke the rules. Half of a completed exchange
	// makes up for one.
	Resets Rate
	// Noise bounds the frames that move nothing. A request or a frame of data
	// makes up for some.
	Noise Rate
}

// Rate is a token bucket: Burst at once, PerSecond in the long run.
type Rate struct{ Burst, PerSecond int32 }

// ServerLimits are those towards clients.
//
// A window is a promise of memory: 256 KiB carry 40 Mbit/s per stream over 50
// ms, and a client whose backend takes nothing makes us hold no more than the
// 256 KiB its connection begins with. 128 streams are what a page may have in
// flight; leaving it resets them all, which has to be free.
func ServerLimits() Limits {
	return Limits{
		Streams: 128, HeaderList: 64 << 10, Continuations: 32,
		Window: 65535, MaxWindow: 256 << 10, ConnWindow: 256 << 10, MaxConnWindow: 1 << 20,
		Output: 128 << 10, Control: 64 << 10,
		Resets: Rate{128, 20}, Noise: Rate{2048, 200},
	}
}

// ClientLimits are those towards backends. Their connections are shared by
// clients, so the window of a connection is as large as those of its streams
// together: a client that is slow must not hold up others.
func ClientLimits() Limits {
	l := ServerLimits()
	l.ConnWindow, l.MaxConnWindow = 32<<20, 32<<20
	return l
}

// Costs in tokens of the noise bucket. What makes us answer costs more.
const (
	costFrame    = 1
	costPing     = 2
	costSettings = 4
	costEmpty    = 2

	// earnRequest is what a request earns: clients send WINDOW_UPDATE or
	// PRIORITY besides each.
	earnRequest = 4
	// earnData is what a frame of data we send earns, besides one for each KiB:
	// the peer answers it with window updates, gRPC also with a PING. Frames
	// that are as small as they are because the peer's window is earn nothing:
	// windows of one byte are an attack.
	earnData = 2
)

// A block whose fields are bombSize bytes or more, and bombRatio times as long as
// the block itself, costs a token for each bombToken bytes: whoever has us write
// 64 KiB to a backend for 100 bytes does not do so at any rate. Heads of
// browsers stay below the first, however well they compress.
const (
	bombSize  = 16 << 10
	bombRatio = 16
	bombToken = 4 << 10
)

// A reset costs two tokens of its bucket, a completed exchange earns one.
const (
	costReset    = 2
	earnComplete = 1
)

// bucket is a token bucket that looks at the clock only when it is empty.
type bucket struct {
	tokens, burst, perSecond int32
	at                       int64 // up to when time was paid out, nanoseconds
}

func newBucket(r Rate, cost int32, now int64) bucket {
	return bucket{tokens: r.Burst * cost, burst: r.Burst * cost, perSecond: max(r.PerSecond*cost, 1), at: now}
}

// take takes n tokens and reports whether there were as many.
func (b *bucket) take(n int32, now func() int64) bool {
	if b.tokens -= n; b.tokens >= 0 {
		return true
	}
	const second = 1_000_000_000
	t := now()
	if earned := (t - b.at) / (second / int64(b.perSecond)); earned > 0 {
		b.tokens += int32(min(earned, int64(b.burst)))
		b.at = t
	}
	return b.tokens >= 0
}

// give returns n tokens.
func (b *bucket) give(n int32) { b.tokens = min(b.tokens+n, b.burst) }
