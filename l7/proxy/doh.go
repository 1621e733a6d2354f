package proxy

import (
	"bytes"
	"encoding/base64"
	"net/netip"
	"strconv"

	"github.com/sluicelb/sluice/core/names"
	"github.com/sluicelb/sluice/l7/http1"
	"github.com/sluicelb/sluice/l7/rejected"
	"github.com/sluicelb/sluice/l7/table"
)

// question is a query to the gslb farm of a service: DNS over HTTPS (RFC 8484).
type question struct {
	message []byte         // received so far; pooled
	from    netip.AddrPort // client address
	wrong   *dohError      // why it is invalid
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

// prepareQuestion reads the query from the URL or from the body received so far.
func (ex *exchange) prepareQuestion(rest []byte) (used int, err error) {
	r := &ex.w.req
	ex.question.from = table.RealClient(ex.farm, ex.peer.Conn.Peer(), r)
	ex.w.loop.Scratch = ex.w.loop.Scratch[:0]
	ex.phase = phaseHead // no backend is needed
	switch r.Verb {
	case http1.VerbGET, http1.VerbHEAD:
		ex.fromAddress(r.Path)
	case http1.VerbPOST:
		switch i := r.Lookup("content-type"); {
		case i < 0 || !isMessage(r.Value(i)):
			ex.question.wrong = notThatType
		case r.Body() == http1.BodyNone:
			ex.question.wrong = noQuestion
		}
	default:
		ex.question.wrong = noMethod
	}
	in, out, err := ex.request.take(rest, true)
	if err != nil {
		return 0, err
	}
	ex.peer.Stats().BytesIn += uint64(in)
	ex.record.moved(uint64(in), 0)
	ex.collect(rest[:out])
	return in, nil
}

// isMessage reports whether a media type, with optional parameters, is that of DNS messages.
func isMessage(value []byte) bool {
	of, _, _ := bytes.Cut(value, []byte{';'})
	return bytes.EqualFold(bytes.TrimSpace(of), []byte(dnsMessage))
}

// fromAddress decodes the message in the query part of the path.
func (ex *exchange) fromAddress(path []byte) {
	ex.question.wrong = noQuestion
	_, query, _ := bytes.Cut(path, []byte{'?'})
	for len(query) > 0 {
		var one []byte
		one, query, _ = bytes.Cut(query, []byte{'&'})
		text, is := bytes.CutPrefix(one, []byte("dns="))
		if !is {
			continue
		}
		text = bytes.TrimRight(text, "=") // some clients pad
		b := ex.w.loop.Buffers.Get(base64.RawURLEncoding.DecodedLen(len(text)))
		ex.question.message, ex.question.wrong = b, nil
		n, err := base64.RawURLEncoding.Decode(b[:cap(b)], text)
		if err != nil {
			ex.question.wrong = notEncoded
			return
		}
		ex.question.message = b[:n]
		return
	}
}

// collect adds a part of the body to the message. The body of a GET has no meaning (RFC 9110
// §9.3.1).
func (ex *exchange) collect(p []byte) {
	switch {
	case ex.verb != http1.VerbPOST || ex.question.wrong != nil:
	case len(ex.question.message)+len(p) > names.MaxMessage:
		ex.question.wrong = tooLong
	case ex.question.message == nil:
		ex.question.message = append(ex.w.loop.Buffers.Get(max(len(p), 512)), p...)
	default:
		ex.question.message = append(ex.w.loop.Buffers.Grow(ex.question.message, len(p)), p...)
	}
}

// takeQuestion reads the next bytes of the body and sends the query once it is complete. It
// reports whether more are expected.
func (ex *exchange) takeQuestion(p []byte) bool {
	in, out, err := ex.request.take(p, true)
	if err != nil {
		ex.refuse(err)
		return false
	}
	ex.stats().BytesIn += uint64(in)
	ex.record.moved(uint64(in), 0)
	ex.collect(p[:out])
	if in < len(p) {
		ex.client.Unread(p[in:])
	}
	if ex.question.wrong == nil && !ex.request.done() {
		return true
	}
	ex.ask()
	return false
}

// ask resolves the query once its client is authenticated and the message is complete.
func (ex *exchange) ask() {
	if ex.login.check != nil || ex.question.wrong == nil && !ex.request.done() {
		return
	}
	no := ex.question.wrong
	if no == nil {
		w := ex.w
		answer, what := w.engine.names.AnswerHTTPS(w.index, ex.service.DNSFarm, ex.question.message, ex.question.from)
		switch what {
		case names.Answered:
			ex.answerQuestion(answer)
			return
		case names.Limited:
			no = tooMany
		case names.Absent:
			no = noNames
		default:
			no = notMessage
		}
	}
	ex.refuseQuestion(no)
}

// answerQuestion sends the response to a query.
func (ex *exchange) answerQuestion(a names.Answer) {
	out := table.AppendStatus(ex.w.loop.Scratch[:0], 200)
	out = append(out, "Content-Type: "+dnsMessage+"\r\nCache-Control: "...)
	if a.Private {
		out = append(out, "private, "...)
	}
	out = append(out, "max-age="...)
	out = strconv.AppendUint(out, uint64(a.Fresh), 10)
	last := ex.closes()
	out = table.AppendFraming(append(out, "\r\n"...), len(a.Message), last)
	if ex.verb != http1.VerbHEAD {
		out = append(out, a.Message...)
	}
	ex.w.loop.Scratch = out // it may have grown
	ex.answerOwn(200, out, last)
}

// refuseQuestion sends an error response.
func (ex *exchange) refuseQuestion(no *dohError) {
	class := rejected.BadRequest
	switch no.status {
	case 429:
		class = rejected.RateLimited
	case 503:
		class = rejected.NoBackend
	}
	ex.note(class, no.status, no.text[:len(no.text)-len(".\n")])
	rejected.Count(ex.stats(), class)
	out := table.AppendStatus(ex.w.loop.Scratch[:0], no.status)
	if no.status == 405 {
		out = append(out, "Allow: GET, HEAD, POST\r\n"...)
	}
	last := ex.closes()
	out = table.AppendFraming(append(out, "Content-Type: text/plain; charset=utf-8\r\nCache-Control: no-cache\r\n"...), len(no.text), last)
	if ex.verb != http1.VerbHEAD {
		out = append(out, no.text...)
	}
	ex.answerOwn(no.status, out, last)
}
