package proxy

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"unsafe"

	"github.com/sluicelb/sluice/core/accesslog"
	"github.com/sluicelb/sluice/core/balance"
	"github.com/sluicelb/sluice/core/loop"
	"github.com/sluicelb/sluice/core/proxyproto"
	"github.com/sluicelb/sluice/l7/backend"
	"github.com/sluicelb/sluice/l7/dial"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/table"
)

// pick chooses the backend, and counts what that costs others.
func (ex *exchange) pick() (int, bool) {
	i, ok := ex.Pick(ex.service)
	if ex.Keyed(ex.service) {
		if n := ex.service.Sessions.Forgotten(); n > 0 { // an explanation, which counts nothing, displaces none
			ex.stats().Forgotten += n
		}
		if ok && ex.Why == accesslog.WhySession {
			ex.recordFlag(accesslog.Session)
		}
	}
	return i, ok
}

// choose picks a backend, unless others are to have one first.
func (ex *exchange) choose() (int, bool) {
	if ex.service.QueueLength == 0 && ex.wait == nil {
		return ex.pick()
	}
	return ex.chooseInTurn()
}

func (ex *exchange) chooseInTurn() (int, bool) {
	q := ex.queue
	if !ex.turned && q.Len() > 0 {
		return -1, false
	}
	i, ok := ex.pick()
	if !ok {
		return -1, false
	}
	ex.turned = true
	ex.endWait()
	return i, true
}

// attemptTime bounds how long one exchange tries backends that are down: others
// are told meanwhile that there is none, and the next one should soon have its
// turn.
const attemptTime = second

// reviving is an exchange's try of a backend that is down.
type reviving struct {
	attempt *balance.Attempt // nil without one
	trying  int64            // since when it does so
}

// chooseDown picks a backend that is down while none is usable, if it is the turn
// of this exchange to try.
func (ex *exchange) chooseDown() (int, bool) {
	now := ex.w.loop.Now()
	if ex.trying != 0 && now-ex.trying >= attemptTime {
		return -1, false
	}
	i, right := ex.service.Picker.Attempt(ex.Belongs(ex.service), ex.Tried, ex.attempt)
	if i < 0 {
		return -1, false
	}
	if ex.trying == 0 {
		ex.trying = now
	}
	ex.attempt, ex.fresh = right, true // a connection that is kept proves nothing
	ex.Held, ex.Why = ex.service.Picker.Held(i), accesslog.WhyAttempt
	ex.endWait()
	return i, true
}

// endAttempt lets other exchanges try.
func (ex *exchange) endAttempt() {
	ex.attempt.Done()
	ex.attempt = nil
}

// attempted tells all loops that the backend the exchange tried is there again.
func (ex *exchange) attempted() {
	if ex.attempt == nil {
		return
	}
	ex.w.engine.revived(ex.backend)
	ex.endAttempt()
}

// destination is where and how to connect for the exchange. With TLS the name
// that is asked for is the request's, unless the service has one of its own;
// the result is good until the next call on the loop.
func (ex *exchange) destination() *dial.Target {
	if ex.service.TLS == nil && ex.attempt == nil {
		return &ex.backend.Target
	}
	t := &ex.w.target
	*t = ex.backend.Target
	if ex.service.TLS != nil {
		t.Options.Security.Config = ex.service.TLS.Config(ex.backend.ID, ex.nameAsked())
	}
	if ex.attempt != nil {
		t.Timeout = min(t.Timeout, attemptTime)
	}
	return t
}

// nameAsked is the name of the request, which backends are asked for unless the
// service has one. It is a view: the configurations copy the names they keep.
func (ex *exchange) nameAsked() string {
	name := table.WithoutPort(ex.host)
	return unsafe.String(unsafe.SliceData(name), len(name))
}

// A service may announce its clients to its backends: each connection begins
// with a header of the PROXY protocol, before TLS. It is for that client alone,
// so nobody else gets it: the client keeps it as one of a pinned service.

// announce lets the connection that is about to be opened begin with the header.
// The result is good until the next call on the loop.
func (ex *exchange) announce(to *dial.Target) *dial.Target {
	w, c := ex.w, ex.peer.Conn
	if to != &w.target {
		w.target = *to
	}
	tlvs := w.addressed[:0]
	if to.Announce == proxyproto.V2 {
		tlvs = appendTLVs(tlvs, c.TLS())
	}
	n := len(tlvs)
	b := proxyproto.Append(tlvs, to.Announce, c.Peer(), c.Local(), tlvs)
	w.addressed = b
	w.target.Options.Preface = b[n:]
	return &w.target
}

// notVerified is what is said of a certificate that was not shown; 0 means that
// it was, and that an authority of the farm vouches for it.
const notVerified = 1

// appendTLVs tells what the client's TLS agreed on.
func appendTLVs(dst []byte, t *loop.TLS) []byte {
	if t == nil {
		return dst
	}
	dst = proxyproto.AppendTLV(dst, proxyproto.TypeALPN, t.Protocol)
	dst = proxyproto.AppendTLV(dst, proxyproto.TypeAuthority, t.ServerName)
	start := len(dst)
	dst = append(dst, proxyproto.TypeSSL, 0, 0, proxyproto.ClientSSL)
	if len(t.Peer) > 0 {
		dst[start+3] |= proxyproto.ClientCertSess
		if !t.Resumed {
			dst[start+3] |= proxyproto.ClientCertConn
		}
		dst = append(dst, 0, 0, 0, 0)
	} else {
		dst = append(dst, 0, 0, 0, notVerified)
	}
	dst = proxyproto.AppendTLV(dst, proxyproto.SubtypeSSLVersion, table.VersionName(t.Version))
	if len(t.Peer) > 0 {
		dst = proxyproto.AppendTLV(dst, proxyproto.SubtypeSSLCN, t.Peer[0].Subject.CommonName)
	}
	dst = proxyproto.AppendTLV(dst, proxyproto.SubtypeSSLCipher, tls.CipherSuiteName(t.Cipher))
	binary.BigEndian.PutUint16(dst[start+1:], uint16(len(dst)-start-3))
	return dst
}

// maxReplay bounds a request that is kept while a backend of HTTP/2 may still
// say that it has not looked at it.
const maxReplay = 64 << 10

// maxRejections is how often a request may be sent again because of that.
const maxRejections = 3

// sending is how far an exchange's request is.
type sending struct {
	// head holds the rewritten request as long as it may have to be sent
	// again: until a connection is established, or until the answer begins.
	head []byte
	// rejections is how often a backend did not look at the request.
	rejections uint8
	// unshaken is how many handshakes failed for what the client sent.
	unshaken    uint8
	replayable  bool // head is the whole request and sending it twice is safe
	fresh       bool // the next connection must be a new one
	bodyRefused bool // the backend takes no more of the body
}

// transport finds what carries the exchange to the target. established tells that
// the request can be sent now; otherwise the outcome of a connect is awaited.
func (ex *exchange) transport(to *dial.Target) (up backend.Transport, established bool, err error) {
	pool := ex.w.pool
	if ex.service.Multiplexed {
		return pool.Stream(to, &backend.Ask{
			Owner: ex, New: ex.fresh, Bare: ex.unframed(), Upgrade: ex.upgrade, Began: ex.began, Timeout: ex.backend.Timeout,
		})
	}
	if !ex.fresh && !ex.service.Pinned {
		if up := pool.Idle(to, ex); up != nil {
			return up, true, nil
		}
	}
	if to.Announce != 0 {
		to = ex.announce(to)
	}
	up, err = pool.Dial(to, ex)
	return up, false, err
}

// takeKept gives the exchange a connection its client keeps for the service. It
// answers false when there is none, or none that can serve it.
func (ex *exchange) takeKept() bool {
	up := ex.peer.Kept().Take(ex.service.ID, ex, func(c *dial.Conn, id uint32) bool {
		i := ex.service.Find(id)
		if i < 0 {
			return false
		}
		ex.backend = &ex.service.Backends[i]
		return c.Fits(ex.destination()) && ex.Claim(ex.service, i)
	})
	if up == nil {
		return false
	}
	ex.binds = true // if the service does not say so it was a log-in that did
	ex.up, ex.Why = up, accesslog.WhyPin
	ex.await()
	ex.backendStats().Reuses++
	return true
}

// transmit sends the request as far as it has come: a head of HTTP/1.1 and
// bytes of the body, with chunks only where the backend speaks HTTP/1.
func (ex *exchange) transmit(b []byte) error {
	if !ex.service.Multiplexed {
		return ex.up.Send(b, false, nil)
	}
	ex.client.Listen(true) // if it leaves the backend may stop
	up := ex.up
	err := up.Send(b, ex.request.done(), ex.requestTrailer())
	if ex.binds {
		up.Reserve()
	}
	return err
}

// transmitBody sends more of the body.
func (ex *exchange) transmitBody(p []byte) error {
	t := ex.requestTrailer()
	ex.keepSent(p)
	if !ex.service.Multiplexed {
		ex.keepSent(t)
	}
	return ex.up.SendBody(p, ex.request.done(), t)
}

// keepSent adds p to the request that may have to be sent again.
func (ex *exchange) keepSent(p []byte) {
	switch {
	case ex.head == nil:
	case len(ex.head)+len(p) > maxReplay:
		ex.unsave()
	default:
		ex.head = append(ex.w.loop.Buffers.Grow(ex.head, len(p)), p...)
	}
}

// repeatable reports whether the request may be sent again after its transport
// ended with err before an answer came.
func (ex *exchange) repeatable(err error) bool {
	if ex.ahead != nil || ex.interim != 0 {
		return false
	}
	switch why := backend.ErrorOf(err); {
	case why == nil || why.Lost:
		return ex.replayable
	case !why.Unprocessed || ex.head == nil || ex.rejections == maxRejections:
		return false
	}
	ex.rejections++
	ex.bodyRefused = false
	return true
}

// giveBack ends the use of the transport of a complete exchange. complete tells
// that the request is, too.
func (ex *exchange) giveBack(complete bool) {
	up, whole := ex.up, ex.keepBackend && complete
	ex.up = nil
	if ex.service.Pinned || ex.binds {
		up.FinishFor(ex.peer.Keep(), ex.service.ID, whole)
		return
	}
	up.Finish(whole)
}

// refused answers for a backend of HTTP/2 that broke the rules. It reports
// false when err is no such thing.
func (ex *exchange) refused(err error) bool {
	why := backend.ErrorOf(err)
	if why == nil || !why.Broke {
		return false
	}
	ex.badResponse(why.Reason)
	return true
}

// endReason is why a transport ended with err: otherwise, if it was a connection
// that just did.
func endReason(err error, otherwise string) string {
	if why := backend.ErrorOf(err); why != nil && why != backend.ErrLost {
		return why.Reason
	}
	return otherwise
}

// NTLM, and Negotiate that comes down to it or to a ticket of Kerberos, log in a
// connection and not a request: what comes on it later is that user's, whoever
// sent it. So a connection on which such a log-in began is kept for its client, as
// those of pinned services are. Streams of HTTP/2 keep none, and those of HTTP/2 are shared:
// a connection to a backend that a stream's log-in was sent on ends with the
// exchange, one of HTTP/2 takes no other exchange any more. Such log-ins need HTTP/1.1 on both
// sides (RFC 9113 leaves HTTP_1_1_REQUIRED to servers that want them).
//
// That a log-in to proxies (407) would do the same is no business of ours.

// binds reports whether a connection that carries the request is its client's from
// then on: it is to log in, perhaps without having been asked to.
func binds(r *http1.Request) bool {
	i := r.Find(http1.KnownAuthorization)
	return i >= 0 && bindingScheme(r.Value(i))
}

// asksToBind reports whether an answer 401 asks for a log-in of the connection.
func asksToBind(h *http1.Head) bool {
	const name = "www-authenticate"
	for i := h.Lookup(name); i >= 0; i = h.LookupFrom(name, i+1) {
		for rest := h.Value(i); len(rest) > 0; {
			var challenge []byte
			// A comma within a parameter may make one more challenge of it: a
			// connection is kept apart in vain then.
			challenge, rest, _ = bytes.Cut(rest, []byte(","))
			if bindingScheme(challenge) {
				return true
			}
		}
	}
	return false
}

func bindingScheme(credentials []byte) bool {
	scheme, _, _ := bytes.Cut(bytes.TrimLeft(credentials, " \t"), []byte(" "))
	scheme = bytes.TrimRight(scheme, "\t")
	return bytes.EqualFold(scheme, []byte("ntlm")) || bytes.EqualFold(scheme, []byte("negotiate"))
}

// bind keeps the connection the exchange is on from others.
func (ex *exchange) bind() {
	ex.binds = true
	ex.up.Reserve()
}

// keepsOwn reports whether the client keeps a connection for the service of the
// exchange.
func (ex *exchange) keepsOwn() bool {
	return ex.service.Pinned || ex.peer.Kept().Has(ex.service.ID)
}
