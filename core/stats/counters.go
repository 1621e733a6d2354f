package stats

import (
	"math/bits"
	"time"
	"unsafe"

	"github.com/sluicelb/sluice/core/farm"
)

// GET /metrics exports every field by its tags: `metric` is the name after
// sluice_loop_, sluice_farm_ or sluice_backend_, and the suffix _total marks a counter.
// `help` describes the field. A sum of nanoseconds is named …_seconds_total. A new
// counter needs a line here and takes its bytes from the padding.

// Loop holds the counters of one event loop: 512 bytes, including spare room.
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

// Farm holds the counters of one farm on one loop. Its size, 512 bytes including spare
// room, is a multiple of the cache line and divides the page.
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

	Queries       uint64 `metric:"dns_queries_total" help:"Questions read, by UDP and TCP."`
	QueriesTCP    uint64 `metric:"dns_tcp_queries_total" help:"Questions read from TCP connections."`
	NoErrors      uint64 `metric:"dns_noerror_total" help:"Questions answered NOERROR."`
	NXDomains     uint64 `metric:"dns_nxdomain_total" help:"Questions answered NXDOMAIN: the name does not exist."`
	ServFails     uint64 `metric:"dns_servfail_total" help:"Questions answered SERVFAIL: a service had nothing to answer with."`
	RefusedNames  uint64 `metric:"dns_refused_total" help:"Questions answered REFUSED: of no zone of the farm, or not allowed."`
	BadMessages   uint64 `metric:"dns_formerr_total" help:"Messages answered FORMERR, NOTIMP or BADVERS."`
	NoMessages    uint64 `metric:"dns_dropped_total" help:"Messages without an answer: they are none, or too short."`
	Truncated     uint64 `metric:"dns_truncated_total" help:"Answers that did not fit: the client asks again by TCP."`
	LimitedAsks   uint64 `metric:"dns_limited_total" help:"Questions without an answer: the client's net asked too often."`
	SlippedAsks   uint64 `metric:"dns_slipped_total" help:"Questions over the limit of an answer that were answered truncated."`
	ServiceChosen uint64 `metric:"dns_service_answers_total" help:"Answers chosen by a service."`
	Transfers     uint64 `metric:"dns_transfers_total" help:"Zones sent to secondaries."`

	_ [18]uint64
}

// Backend holds the counters of one backend on one loop. Its size is 256 bytes for the
// same reason.
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
	Ejections       uint64    `metric:"ejections_total" help:"Times the backend was taken out because its answers failed, or took far longer than those of others."`
	PacketsIn       uint64    `metric:"received_packets_total" help:"Datagrams from the backend; packets where the kernel carries the farm."`
	PacketsOut      uint64    `metric:"sent_packets_total" help:"Datagrams to the backend; packets where the kernel carries the farm."`
	Abandoned       uint64    `metric:"abandoned_total" help:"Requests, and relayed connections, whose client went after it had waited a second or more, and nothing had come."`
	Ends            uint64    `metric:"ends_total" help:"Relayed connections whose direction the backend ended in order."`
	Failures        uint64    `metric:"failures_total" help:"Answers of 5xx but 501 and 505, and requests without an answer: the connection ended, or none came in time."`
	Logins          uint64    `metric:"connection_logins_total" help:"Responses that ask for a login by NTLM or Negotiate, which is a login of the connection."`
	_               [5]uint64
}

// MaxClasses is the maximum number of classes of rejections.
const MaxClasses = 32

// Rejections counts the rejections of a farm on one loop by class: 256 bytes.
type Rejections [MaxClasses]uint64

// Counters are summed and cleared as arrays of words.
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

// gauges returns the fields that hold a current value instead of a total.
func (f *Farm) gauges() []*uint64    { return []*uint64{&f.Established, &f.Pending, &f.Queued} }
func (b *Backend) gauges() []*uint64 { return []*uint64{&b.Established, &b.Pending} }

// add adds src to dst word by word.
//
// norace: src belongs to a running loop that writes it without atomics. A sum only
// requires that each word is loaded once and whole.
//
//go:norace
func add(dst, src []uint64) {
	for i := range dst {
		dst[i] += src[i]
	}
}

// wipe zeroes words. norace: see add. Exchanges that end on an old table may still
// count into a slot whose ID was reassigned.
//
//go:norace
func wipe(words []uint64) {
	for i := range words {
		words[i] = 0
	}
}

// wipeGauges zeroes gauges.
//
//go:norace
func wipeGauges(gauges []*uint64) {
	for _, g := range gauges {
		*g = 0
	}
}

// clamp sets gauges with a negative sum to 0. Sums are negative briefly if only one
// loop's half of a move was read, or after counters were wiped during an exchange.
func clamp(gauges []*uint64) {
	for _, g := range gauges {
		*g = uint64(max(int64(*g), 0))
	}
}

// Shard holds the counters of one loop. Only that loop writes them.
type Shard struct {
	loop     Loop
	_        [pageSize - unsafe.Sizeof(Loop{})]byte
	farms    [farm.MaxFarmID + 1]Farm
	refused  [farm.MaxFarmID + 1]Rejections
	backends [farm.MaxBackendID + 1]Backend

	farmTimes    [farm.MaxFarmID + 1]Times
	backendTimes [farm.MaxBackendID + 1]Times
}

// Loop returns the counters of the loop itself.
func (sh *Shard) Loop() *Loop { return &sh.loop }

// Farm returns the counters of a farm ID (its low 12 bits). The pointer is valid while
// the memory is mapped. Callers should store it in the compiled table instead of
// calling Farm for each exchange.
func (sh *Shard) Farm(id uint32) *Farm { return &sh.farms[id&farm.MaxFarmID] }

// Backend returns the counters of a backend ID (its low 16 bits). The pointer is valid
// while the memory is mapped.
func (sh *Shard) Backend(id uint32) *Backend { return &sh.backends[id&farm.MaxBackendID] }

// Rejections returns the rejections of a farm ID, like Farm.
func (sh *Shard) Rejections(id uint32) *Rejections { return &sh.refused[id&farm.MaxFarmID] }

// FarmTimes returns the durations of the exchanges of a farm ID, like Farm.
func (sh *Shard) FarmTimes(id uint32) *Times { return &sh.farmTimes[id&farm.MaxFarmID] }

// BackendTimes returns the durations of the exchanges of a backend ID, like Backend.
func (sh *Shard) BackendTimes(id uint32) *Times { return &sh.backendTimes[id&farm.MaxBackendID] }

// Traffic holds counters from outside the loops, i.e. from the kernel for farms that it
// forwards. The keys are stable numbers of farms and backends. Values that are not
// counted are zero. It is read-only for its receivers.
type Traffic struct {
	Farms    map[uint32]Farm
	Backends map[uint32]Backend
}

// The upper bounds of the buckets of a histogram are powers of two: 32.768 µs, twice
// that, and so on up to 68.7 s. The last bucket holds longer durations.
const (
	// Buckets is the number of buckets with an upper bound.
	Buckets = 22
	// firstBits is the exponent of the first bound: 1<<15 ns.
	firstBits = 15
)

// Bound returns the inclusive upper bound of bucket i, 0 … Buckets-1.
func Bound(i int) time.Duration { return 1 << (firstBits + i) }

// Histogram counts durations by size: 192 bytes.
type Histogram struct {
	// Counts are by bucket; the last one counts durations above all bounds.
	Counts [Buckets + 1]uint64
	// Nanos is the sum of all durations.
	Nanos uint64
}

// Observe counts a duration in nanoseconds. Values below 1 count as 1.
func (h *Histogram) Observe(nanos int64) {
	n := uint64(max(nanos, 1))
	h.Counts[min(bits.Len64((n-1)>>firstBits), Buckets)]++
	h.Nanos += n
}

// Count returns the number of durations.
func (h *Histogram) Count() (n uint64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// Since returns the difference to an earlier state of the same histogram. It returns
// zero if a count of before is higher, because that is from another time.
func (h *Histogram) Since(before *Histogram) (out Histogram) {
	for i := range h.Counts {
		if h.Counts[i] < before.Counts[i] {
			return Histogram{}
		}
		out.Counts[i] = h.Counts[i] - before.Counts[i]
	}
	out.Nanos = h.Nanos - before.Nanos
	return out
}

// Quantile returns the duration that the given share of all durations does not exceed.
// Within a bucket it interpolates linearly. It returns false if there are none.
func (h *Histogram) Quantile(share float64) (time.Duration, bool) {
	all := h.Count()
	if all == 0 {
		return 0, false
	}
	left := share * float64(all)
	for i, n := range h.Counts[:Buckets] {
		if left <= float64(n) { // left is more than 0, and so is n
			from := time.Duration(0)
			if i > 0 {
				from = Bound(i - 1)
			}
			return from + time.Duration(left/float64(n)*float64(Bound(i)-from)), true
		}
		left -= float64(n)
	}
	return Bound(Buckets - 1), true
}

// Times holds the durations of the exchanges of a farm or a backend on one loop. For a
// farm they start with the complete request head, for a backend when the request is
// sent. Tunnels have a first byte but no total. Its size, 512 bytes, is a multiple of
// the cache line and divides the page.
type Times struct {
	FirstByte Histogram // to the head of the final response
	Total     Histogram // to the last byte of the response
	_         [16]uint64
}
