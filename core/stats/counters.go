package stats

import "unsafe"

// Every field is exported by GET /metrics as its tags say: `metric` is the
// name behind sluice_loop_, sluice_farm_ or sluice_backend_, and tells by its
// end _total that it only grows; `help` is what the field counts. A sum of
// nanoseconds is named …_seconds_total. Who adds a counter writes a line here,
// takes its bytes from the padding, and is done.

// Loop counts what one event loop did. 512 bytes, with room to grow.
type Loop struct {
	Events                uint64 `metric:"events_total" help:"Readiness events handled."`
	Accepted              uint64 `metric:"accepted_total" help:"Client connections accepted."`
	AcceptErrors          uint64 `metric:"accept_errors_total" help:"Accepts that failed, by the limit of descriptors too."`
	Panics                uint64 `metric:"panics_total" help:"Panics contained; each cost one connection."`
	Handshakes            uint64 `metric:"tls_handshakes_total" help:"TLS handshakes with clients that were completed, resumed ones included."`
	HandshakesResumed     uint64 `metric:"tls_handshakes_resumed_total" help:"TLS handshakes with clients that resumed an earlier session."`
	HandshakesFailed      uint64 `metric:"tls_handshakes_failed_total" help:"TLS handshakes with clients that failed."`
	HandshakesRefused     uint64 `metric:"tls_handshakes_refused_total" help:"Connections closed because too many handshakes waited."`
	PlainOnTLS            uint64 `metric:"tls_plain_total" help:"Connections to an https listener that did not speak TLS."`
	DialHandshakes        uint64 `metric:"tls_backend_handshakes_total" help:"TLS handshakes with backends that were completed, resumed ones included."`
	DialHandshakesResumed uint64 `metric:"tls_backend_handshakes_resumed_total" help:"TLS handshakes with backends that resumed an earlier session."`
	HTTP2Connections      uint64 `metric:"http2_connections_total" help:"Client connections that spoke HTTP/2."`
	HTTP2Streams          uint64 `metric:"http2_streams_total" help:"Streams clients opened on HTTP/2 connections."`
	HTTP2Delayed          uint64 `metric:"http2_delayed_total" help:"HTTP/2 connections that had to wait because earlier ones from their address flooded the farm."`
	_                     [50]uint64
}

// Farm counts one farm on one loop. 512 bytes: a multiple of the cache line
// that divides the page, with room to grow.
type Farm struct {
	Connections   uint64    `metric:"connections_total" help:"Client connections accepted."`
	Established   uint64    `metric:"connections" help:"Client connections open."`
	Pending       uint64    `metric:"connections_pending" help:"Client connections open without a complete first request head."`
	Requests      uint64    `metric:"requests_total" help:"Complete request heads."`
	Responses     [5]uint64 `metric:"responses_total" help:"Responses begun, by class of status."` // [0] is 1xx … [4] is 5xx
	BytesIn       uint64    `metric:"received_bytes_total" help:"Bytes from clients."`
	BytesOut      uint64    `metric:"sent_bytes_total" help:"Bytes to clients."`
	BadRequests   uint64    `metric:"bad_requests_total" help:"Requests answered 400."`
	RefusedHead   uint64    `metric:"refused_heads_total" help:"Requests answered 414 or 431: the head was too long."`
	BadMethods    uint64    `metric:"bad_methods_total" help:"Requests answered 501: the method is not in the farm's set."`
	NoBackend     uint64    `metric:"no_backend_total" help:"Requests answered 503: no backend could be used."`
	BackendErrors uint64    `metric:"backend_errors_total" help:"Requests answered 502 or 504: the backend failed them."`
	Timeouts      uint64    `metric:"timeouts_total" help:"Peers that were silent for too long."`
	ClientAborts  uint64    `metric:"client_aborts_total" help:"Exchanges the client left before their end."`
	Redirects     uint64    `metric:"redirects_total" help:"Requests answered by a redirecting service."`
	Upgrades      uint64    `metric:"upgrades_total" help:"Exchanges that became tunnels."`
	Queued        uint64    `metric:"queued" help:"Exchanges that wait for a backend to have room."`
	QueuedTotal   uint64    `metric:"queued_total" help:"Exchanges that had to wait for a backend to have room."`
	QueueTimeouts uint64    `metric:"queue_timeouts_total" help:"Requests answered 503: they waited too long for a backend to have room."`
	QueueFull     uint64    `metric:"queue_full_total" help:"Requests answered 503: too many waited for a backend already."`
	Compressed    uint64    `metric:"compressed_responses_total" help:"Responses whose body was compressed."`
	CompressIn    uint64    `metric:"compression_in_bytes_total" help:"Bytes of bodies before compression."`
	CompressOut   uint64    `metric:"compression_out_bytes_total" help:"Bytes of bodies after compression."`
	CompressFull  uint64    `metric:"compression_refused_total" help:"Responses left as they were because compression uses all its memory."`
	PacketsIn     uint64    `metric:"received_packets_total" help:"Datagrams from clients; packets where the kernel carries the farm."`
	PacketsOut    uint64    `metric:"sent_packets_total" help:"Datagrams to clients; packets where the kernel carries the farm."`
	Evicted       uint64    `metric:"evicted_flows_total" help:"Flows that were idle and made room for others."`
	Dropped       uint64    `metric:"dropped_datagrams_total" help:"Datagrams that did not go on: a flow was not to be had, or a socket took no more."`
	Forgotten     uint64    `metric:"forgotten_sessions_total" help:"Persistence sessions that made room for others."`
	_             [31]uint64
}

// Backend counts one backend on one loop. 256 bytes, for the same reason.
type Backend struct {
	Requests        uint64    `metric:"requests_total" help:"Requests sent, repeated ones included."`
	Responses       [5]uint64 `metric:"responses_total" help:"Response heads received, by class of status."` // [0] is 1xx … [4] is 5xx
	BytesIn         uint64    `metric:"received_bytes_total" help:"Bytes from the backend."`
	BytesOut        uint64    `metric:"sent_bytes_total" help:"Bytes to the backend."`
	Connects        uint64    `metric:"connects_total" help:"Connections established."`
	ConnectFailures uint64    `metric:"connect_failures_total" help:"Connects refused, unreachable or too slow."`
	Reuses          uint64    `metric:"reuses_total" help:"Requests sent over a connection that was open already."`
	Retries         uint64    `metric:"retries_total" help:"Exchanges that went on to another connection or backend."`
	Resets          uint64    `metric:"resets_total" help:"Connections the backend cut in the middle of an exchange."`
	BadResponses    uint64    `metric:"bad_responses_total" help:"Responses refused as malformed."`
	Timeouts        uint64    `metric:"timeouts_total" help:"Responses that did not come in time."`
	Established     uint64    `metric:"exchanges" help:"Exchanges and tunnels in flight."`
	Pending         uint64    `metric:"connects_pending" help:"Connects under way."`
	ConnectNanos    uint64    `metric:"connect_seconds_total" help:"Time all connects together took."`
	ResponseNanos   uint64    `metric:"response_seconds_total" help:"Time from sending the request to the head of the response, over all responses."`
	Upgrades        uint64    `metric:"upgrades_total" help:"Exchanges that became tunnels."`
	Ejections       uint64    `metric:"ejections_total" help:"Times the backend was taken out because its answers failed."`
	PacketsIn       uint64    `metric:"received_packets_total" help:"Datagrams from the backend; packets where the kernel carries the farm."`
	PacketsOut      uint64    `metric:"sent_packets_total" help:"Datagrams to the backend; packets where the kernel carries the farm."`
	Abandoned       uint64    `metric:"abandoned_total" help:"Requests, and relayed connections, whose client went after it had waited a second or more, and nothing had come."`
	Ends            uint64    `metric:"ends_total" help:"Relayed connections whose direction the backend ended in order."`
	_               [7]uint64
}

// MaxClasses bounds the classes of refusals that are counted.
const MaxClasses = 32

// Refusals counts what a farm refused on one loop, by class. 256 bytes.
type Refusals [MaxClasses]uint64

// The counters are summed and cleared word by word, whatever their names.
const (
	loopWords    = unsafe.Sizeof(Loop{}) / 8
	farmWords    = unsafe.Sizeof(Farm{}) / 8
	backendWords = unsafe.Sizeof(Backend{}) / 8
	timesWords   = unsafe.Sizeof(Times{}) / 8
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

func (t *Times) words() []uint64 {
	return (*[timesWords]uint64)(unsafe.Pointer(t))[:]
}

// gauges lists the fields that tell a present state instead of a total.
func (f *Farm) gauges() []*uint64    { return []*uint64{&f.Established, &f.Pending, &f.Queued} }
func (b *Backend) gauges() []*uint64 { return []*uint64{&b.Established, &b.Pending} }

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
func wipeGauges(gauges []*uint64) {
	for _, g := range gauges {
		*g = 0
	}
}

// clamp turns gauges whose sum is negative as a signed number into 0. That
// happens for a moment when one loop's half of a move was read and the other's
// was not, or after a slot was wiped under a running exchange.
func clamp(gauges []*uint64) {
	for _, g := range gauges {
		if int64(*g) < 0 {
			*g = 0
		}
	}
}
