package stats

import "unsafe"

// Loop counts what one event loop did. 64 bytes, one cache line.
type Loop struct {
	Wakeups      uint64 // returns from waiting for events
	Events       uint64 // readiness events handled
	Accepted     uint64 // client connections accepted
	AcceptErrors uint64 // failed accepts, descriptor limit included
	Panics       uint64 // handler panics contained, one closed connection each
	Deferred     uint64 // turns that ended by budget with work left
	Open         uint64 // gauge: connections held, both sides
	BufferBytes  uint64 // gauge: bytes in pooled buffers in use
}

// Farm counts one farm on one loop. 256 bytes: a multiple of the cache line
// that divides the page, with room to grow.
type Farm struct {
	Connections   uint64    // client connections accepted
	Established   uint64    // gauge: client connections open
	Pending       uint64    // gauge: of these, without a complete first request head
	Requests      uint64    // complete request heads
	Responses     [5]uint64 // responses begun, by class: [0] is 1xx … [4] is 5xx
	BytesIn       uint64    // bytes from clients
	BytesOut      uint64    // bytes to clients
	BadRequests   uint64    // answered 400
	RefusedHead   uint64    // answered 414 or 431: the head was too long
	BadMethods    uint64    // answered 501: the method is not in the farm's set
	NoBackend     uint64    // answered 503: no usable backend
	BackendErrors uint64    // answered 502 or 504: the backend failed the exchange
	Timeouts      uint64    // clients that were silent for too long
	ClientAborts  uint64    // exchanges the client left before their end
	Redirects     uint64    // answered by a redirecting service
	Upgrades      uint64    // exchanges that became tunnels
	_             [12]uint64
}

// Backend counts one backend on one loop. 256 bytes, as Farm.
type Backend struct {
	Requests        uint64    // requests sent, retries included
	Responses       [5]uint64 // response heads received, by class: [0] is 1xx … [4] is 5xx
	BytesIn         uint64    // bytes from the backend
	BytesOut        uint64    // bytes to the backend
	Connects        uint64    // connections established
	ConnectFailures uint64    // connects refused, unreachable or timed out
	Reuses          uint64    // requests sent over an idle connection
	Retries         uint64    // exchanges that went on to another connection or backend
	Resets          uint64    // connections the backend cut in mid-exchange
	BadResponses    uint64    // responses refused as malformed
	Timeouts        uint64    // responses that did not come in time
	Established     uint64    // gauge: exchanges and tunnels in flight
	Pending         uint64    // gauge: connects under way
	ConnectNanos    uint64    // sum over Connects
	ResponseNanos   uint64    // sum over final responses: request sent to head received
	Upgrades        uint64    // exchanges that became tunnels
	_               [12]uint64
}

// The counters are summed and cleared word by word, whatever their names.
const (
	loopWords    = unsafe.Sizeof(Loop{}) / 8
	farmWords    = unsafe.Sizeof(Farm{}) / 8
	backendWords = unsafe.Sizeof(Backend{}) / 8
)

func (l *Loop) words() []uint64 {
	return (*[loopWords]uint64)(unsafe.Pointer(l))[:]
}

func (f *Farm) words() []uint64 {
	return (*[farmWords]uint64)(unsafe.Pointer(f))[:]
}

func (b *Backend) words() []uint64 {
	return (*[backendWords]uint64)(unsafe.Pointer(b))[:]
}

// gauges lists the fields that tell a present state instead of a total.
func (l *Loop) gauges() [2]*uint64    { return [2]*uint64{&l.Open, &l.BufferBytes} }
func (f *Farm) gauges() [2]*uint64    { return [2]*uint64{&f.Established, &f.Pending} }
func (b *Backend) gauges() [2]*uint64 { return [2]*uint64{&b.Established, &b.Pending} }

// add adds src to dst word by word.
//
// norace: src belongs to a running loop that writes it without atomics. Each
// word is loaded once and whole; that is all a sum needs.
//
//go:norace
func add(dst, src []uint64) {
	for i := range dst {
		dst[i] += src[i]
	}
}

// wipe zeroes words. norace: see add; exchanges that end on an old table may
// still count into a slot whose ID was given away.
//
//go:norace
func wipe(words []uint64) {
	for i := range words {
		words[i] = 0
	}
}

// wipeGauges zeroes what gauges point to.
//
//go:norace
func wipeGauges(gauges [2]*uint64) {
	for _, g := range gauges {
		*g = 0
	}
}

// clamp turns gauges whose sum is negative as a signed number into 0. That
// happens for a moment when one loop's half of a move was read and the other's
// was not, or after a slot was wiped under a running exchange.
func clamp(gauges [2]*uint64) {
	for _, g := range gauges {
		if int64(*g) < 0 {
			*g = 0
		}
	}
}
