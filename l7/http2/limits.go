package http2

// Limits bounds the cost of a connection. All connections of a Shared have the same limits,
// set before the first one.
type Limits struct {
	// Streams is the maximum of concurrent streams of a client. Further ones are refused.
	Streams int
	// HeaderList bounds the fields of one message in bytes as counted by
	// SETTINGS_MAX_HEADER_LIST_SIZE: name, value and 32 for each field.
	HeaderList int
	// Continuations bounds the CONTINUATION frames of one header block.
	Continuations int

	// Window is the initial receive window of a stream, at least 65,535, which a peer may
	// use before our SETTINGS arrive. It doubles up to MaxWindow each time the owner has
	// consumed as many bytes, so that only active streams may have many bytes in flight.
	// ConnWindow and MaxConnWindow are the same for the connection.
	Window, MaxWindow         int
	ConnWindow, MaxConnWindow int

	// Output bounds the bytes in Output before DATA has to wait. It is also the largest
	// single write apart from heads and control frames.
	Output int
	// Control bounds the bytes of control frames in Output. Beyond it the peer requests
	// responses that it does not read.
	Control int

	// Resets bounds the streams that end before their response, by RST_STREAM of the client
	// or a protocol violation. Two completed exchanges offset one.
	Resets Rate
	// Noise bounds the frames without useful work. Requests and data frames offset some.
	Noise Rate
}

// Rate is a token bucket: Burst at once, PerSecond in the long run.
type Rate struct{ Burst, PerSecond int32 }

// ServerLimits returns the limits for clients.
//
// A window is a promise of memory. 256 KiB suffice for 40 Mbit/s per stream at 50 ms. If the
// backend reads nothing, a connection holds at most its initial 256 KiB. A page may have 128
// streams in flight. Leaving the page resets all of them, which must not be penalised.
func ServerLimits() Limits {
	return Limits{
		Streams: 128, HeaderList: 64 << 10, Continuations: 32,
		Window: 65535, MaxWindow: 256 << 10, ConnWindow: 256 << 10, MaxConnWindow: 1 << 20,
		Output: 128 << 10, Control: 64 << 10,
		Resets: Rate{128, 20}, Noise: Rate{2048, 200},
	}
}

// ClientLimits returns the limits for backends. Clients share these connections, so the
// connection window equals the sum of the stream windows: a slow client must not stall
// others.
func ClientLimits() Limits {
	l := ServerLimits()
	l.ConnWindow, l.MaxConnWindow = 32<<20, 32<<20
	return l
}

// Costs in tokens of the noise bucket. Frames that require a response cost more.
const (
	costFrame    = 1
	costPing     = 2
	costSettings = 4
	costEmpty    = 2

	// earnRequest is earned by a request, because clients send WINDOW_UPDATE or PRIORITY
	// with each.
	earnRequest = 4
	// earnData is earned by a DATA frame that we send, plus one for each KiB. The peer
	// responds with window updates, and gRPC also with a PING. Frames that are small only
	// because of the peer's window earn nothing, since one-byte windows are an attack.
	earnData = 2
)

// A block whose fields total at least bombSize bytes and bombRatio times the size of the
// block costs a token for each bombToken bytes. This limits the rate at which 100 bytes can
// expand to 64 KiB towards a backend. Browsers stay below bombSize, however well their heads
// compress.
const (
	bombSize  = 16 << 10
	bombRatio = 16
	bombToken = 4 << 10
)

// A reset costs two tokens of its bucket; a completed exchange earns one.
const (
	costReset    = 2
	earnComplete = 1
)

// bucket is a token bucket that reads the clock only when it is empty.
type bucket struct {
	tokens, burst, perSecond int32
	at                       int64 // time of the last refill in nanoseconds
}

func newBucket(r Rate, cost int32, now int64) bucket {
	return bucket{tokens: r.Burst * cost, burst: r.Burst * cost, perSecond: max(r.PerSecond*cost, 1), at: now}
}

// take takes n tokens and reports whether they were available.
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
