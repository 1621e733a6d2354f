package proxy

import (
	"bytes"
	"encoding/base64"
	"net/netip"
	"strconv"

	"github.com/sluicelb/sluice/core/doh"
	"github.com/sluicelb/sluice/core/stats"
	"github.com/sluicelb/sluice/l7/client"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/table"
)

// dohQuery is an exchange with the name server on the same loop: DNS over HTTPS (RFC 8484).
// It has no backend. The response is ready once the request is complete.
type dohQuery struct {
	w       *worker
	client  client.Client // nil after the end
	peer    *client.Peer  // its connection
	farm    *table.Farm
	service *table.Service

	verb       http1.Verb
	oldClient  bool // HTTP/1.0
	keepClient bool // the client connection may continue

	request body
	message []byte         // received so far; pooled
	from    netip.AddrPort // client address
	wrong   *dohError      // why it is invalid

	login  loginWait
	record record
}

// dohError is the response to an invalid query.
type dohError struct {
	status int
	text   string
}

const dnsMessage = "application/dns-message"

var (
	noQuestion  = &dohError{400, "A question of the DNS comes as POST with a body, or as GET with ?dns= and base64url (RFC 8484).\n"}
	notEncoded  = &dohError{400, "What follows ?dns= is not base64url without padding (RFC 8484).\n"}
	notMessage  = &dohError{400, "This is no message of the DNS.\n"}
	noMethod    = &dohError{405, "Questions of the DNS come by GET, HEAD or POST.\n"}
	tooLong     = &dohError{413, "No message of the DNS has more than 65535 bytes.\n"}
	notThatType = &dohError{415, "A question of the DNS has the Content-Type application/dns-message.\n"}
	tooMany     = &dohError{429, "There were too many questions. Please try again later.\n"}
	noNames     = &dohError{503, "No names are answered here now. Please try again later.\n"}
)

// beginQuery begins a DNS query, after a pending password check if there is one. It returns
// the number of bytes of rest that belong to the request.
func (w *worker) beginQuery(cl client.Client, f *table.Farm, p *table.Plan, unchecked *login, rest []byte) int {
	q, r, sv := w.queries.Get(), &w.req, p.Service
	q.w, q.client, q.peer, q.farm, q.service = w, cl, cl.From(), f, sv
	q.verb, q.oldClient, q.keepClient = r.Verb, r.Minor == 0, r.KeepAlive
	cl.Serve(q)
	q.record.begin(w, q.peer, f)
	q.request.start(r.Body(), &r.Head, true)
	if m := f.Limits.MaxBody; m > 0 {
		q.request.chunked.Limit(m)
	}
	invite := w.query.Invites()
	used, err := q.read(rest)
	if err != nil {
		q.refuseBody(err)
		return len(rest)
	}
	if unchecked != nil {
		q.login.await(q, unchecked, p.Auth, invite && used == 0)
		return used
	}
	if invite && used == 0 && !q.inviteBody() {
		return len(rest)
	}
	q.ask()
	return used
}

// read reads the query from the URL or from the body received so far.
func (q *dohQuery) read(rest []byte) (used int, err error) {
	r := &q.w.req
	q.from = table.RealClient(q.farm, q.peer.Conn.Peer(), r)
	switch r.Verb {
	case http1.VerbGET, http1.VerbHEAD:
		q.readURL(r.Path)
	case http1.VerbPOST:
		switch i := r.Lookup("content-type"); {
		case i < 0 || !isMessage(r.Value(i)):
			q.wrong = notThatType
		case r.Body() == http1.BodyNone:
			q.wrong = noQuestion
		}
	default:
		q.wrong = noMethod
	}
	in, out, err := q.request.take(rest, true)
	if err != nil {
		return 0, err
	}
	q.peer.Stats().BytesIn += uint64(in)
	q.record.moved(uint64(in), 0)
	q.collect(rest[:out])
	return in, nil
}

// isMessage reports whether a media type, with optional parameters, is that of DNS messages.
func isMessage(value []byte) bool {
	of, _, _ := bytes.Cut(value, []byte{';'})
	return bytes.EqualFold(bytes.TrimSpace(of), []byte(dnsMessage))
}

// readURL decodes the message in the query part of the path.
func (q *dohQuery) readURL(path []byte) {
	q.wrong = noQuestion
	_, query, _ := bytes.Cut(path, []byte{'?'})
	for len(query) > 0 {
		var one []byte
		one, query, _ = bytes.Cut(query, []byte{'&'})
		text, is := bytes.CutPrefix(one, []byte("dns="))
		if !is {
			continue
		}
		text = bytes.TrimRight(text, "=") // some clients pad
		b := q.w.loop.Buffers.Get(base64.RawURLEncoding.DecodedLen(len(text)))
		q.message, q.wrong = b, nil
		n, err := base64.RawURLEncoding.Decode(b[:cap(b)], text)
		if err != nil {
			q.wrong = notEncoded
			return
		}
		q.message = b[:n]
		return
	}
}

// collect adds a part of the body to the message. The body of a GET has no meaning (RFC 9110
// §9.3.1).
func (q *dohQuery) collect(p []byte) {
	switch {
	case q.verb != http1.VerbPOST || q.wrong != nil:
	case len(q.message)+len(p) > doh.MaxMessage:
		q.wrong = tooLong
	case q.message == nil:
		q.message = append(q.w.loop.Buffers.Get(max(len(p), 512)), p...)
	default:
		q.message = append(q.w.loop.Buffers.Grow(q.message, len(p)), p...)
	}
}

// take reads the next bytes of the body and sends the query once it is complete. It reports
// whether more are expected.
func (q *dohQuery) take(p []byte) bool {
	in, out, err := q.request.take(p, true)
	if err != nil {
		q.refuseBody(err)
		return false
	}
	q.stats().BytesIn += uint64(in)
	q.record.moved(uint64(in), 0)
	q.collect(p[:out])
	if in < len(p) {
		q.client.Unread(p[in:])
	}
	if q.wrong == nil && !q.request.done() {
		return true
	}
	q.ask()
	return false
}

// ask resolves the query once its client is authenticated and the message is complete.
func (q *dohQuery) ask() {
	if q.login.check != nil || q.wrong == nil && !q.request.done() {
		return
	}
	no := q.wrong
	if no == nil {
		answer, what := q.w.engine.names.AnswerHTTPS(q.w.index, q.service.DNSFarm, q.message, q.from)
		switch what {
		case doh.Answered:
			q.respond(answer)
			return
		case doh.Limited:
			no = tooMany
		case doh.Absent:
			no = noNames
		default:
			no = notMessage
		}
	}
	q.refuse(no)
}

// respond sends the response to a query.
func (q *dohQuery) respond(a doh.Answer) {
	l := q.w.loop
	out := table.AppendStatus(l.Scratch[:0], 200)
	out = append(out, "Content-Type: "+dnsMessage+"\r\nCache-Control: "...)
	if a.Private {
		out = append(out, "private, "...)
	}
	out = append(out, "max-age="...)
	out = strconv.AppendUint(out, uint64(a.Fresh), 10)
	last := q.closes()
	out = table.AppendFraming(append(out, "\r\n"...), len(a.Message), last)
	if q.verb != http1.VerbHEAD {
		out = append(out, a.Message...)
	}
	l.Scratch = out // it may have grown
	q.send(200, out, last)
}

// refuse sends an error response.
func (q *dohQuery) refuse(no *dohError) {
	class := rejected.BadRequest
	switch no.status {
	case 429:
		class = rejected.RateLimited
	case 503:
		class = rejected.NoBackend
	}
	q.note(class, no.status, no.text[:len(no.text)-len(".\n")])
	rejected.Count(q.stats(), class)
	out := table.AppendStatus(q.w.loop.Scratch[:0], no.status)
	if no.status == 405 {
		out = append(out, "Allow: GET, HEAD, POST\r\n"...)
	}
	last := q.closes()
	out = table.AppendFraming(append(out, "Content-Type: text/plain; charset=utf-8\r\nCache-Control: no-cache\r\n"...), len(no.text), last)
	if q.verb != http1.VerbHEAD {
		out = append(out, no.text...)
	}
	q.send(no.status, out, last)
}

// stats returns the farm's counters of this loop.
func (q *dohQuery) stats() *stats.Farm { return q.w.shard.Farm(q.farm.ID) }
