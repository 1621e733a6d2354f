package api

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sluicelb/sluice/mgmt/api/people"
	"github.com/sluicelb/sluice/mgmt/api/rest"
	"github.com/sluicelb/sluice/mgmt/document"
)

// Limits of remembered responses: enough for a client that lost a response and repeats its
// request, and at most a few MiB.
const (
	repeatKeep    = 10 * time.Minute
	repeatEntries = 256
	// repeatUnderWay is how many requests of one user may be in progress: others have their own.
	repeatUnderWay = 32
	repeatBody     = 64 << 10 // larger responses are not remembered
)

// repeats makes a repeated change happen only once. A repeated request with the same
// Idempotency-Key gets the first response.
type repeats struct {
	now func() time.Time

	mu   sync.Mutex
	seen map[string]*remembered
}

// remembered is one request and, when it is done, its response.
type remembered struct {
	request [sha256.Size]byte
	done    bool
	at      time.Time // when it finished
	status  int
	header  http.Header
	body    []byte
}

func newRepeats(now func() time.Time) *repeats {
	return &repeats{now: now, seen: map[string]*remembered{}}
}

// secret reports whether a response contains a secret that must not be stored: a new API
// key, a second factor, a session cookie.
func secret(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, "/keys") || strings.Contains(r.URL.Path, people.SecondPath) || isSession(r)
}

// serve runs next, or responds from memory. The key includes the user (who), so that
// responses are never shared between users. The body is read only if the caller may use the
// operation; otherwise next rejects the request.
func (p *repeats) serve(s *Server, w http.ResponseWriter, r *http.Request, who string, next http.Handler) {
	key := r.Header.Get("Idempotency-Key")
	if len(key) > rest.MaxIdempotencyKey {
		s.refuse(w, r, rest.BadRequest("Idempotency-Key: %d bytes are too many, allowed are %d", len(key), rest.MaxIdempotencyKey))
		return
	}
	if key == "" || r.Method == http.MethodGet || secret(r) || !s.permits(r) {
		next.ServeHTTP(w, r)
		return
	}
	body, err := rest.ReadWhole(r, document.MaxSize)
	if err != nil {
		s.refuse(w, r, rest.RejectionOf(err, false))
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	entry, known, rejection := p.begin(who+"\x00"+key, digest(r, body))
	switch {
	case rejection != nil:
		s.refuse(w, r, rejection)
	case known:
		entry.replay(w)
	default:
		p.record(entry, who+"\x00"+key, w, r, next)
	}
}

func digest(r *http.Request, body []byte) [sha256.Size]byte {
	h := sha256.New()
	io.WriteString(h, r.Method+" "+r.URL.RequestURI()+"\x00"+strings.Join(r.Header.Values("If-Match"), ",")+"\x00")
	h.Write(body)
	return [sha256.Size]byte(h.Sum(nil))
}

// begin returns the earlier request, or registers this one.
func (p *repeats) begin(key string, request [sha256.Size]byte) (e *remembered, known bool, err *rest.Rejection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e = p.seen[key]
	if e != nil && p.old(e) {
		delete(p.seen, key)
		e = nil
	}
	switch {
	case e == nil && p.makeRoom(userOf(key)) >= repeatUnderWay:
		return nil, false, &rest.Rejection{Status: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"1"}},
			Message: fmt.Sprintf("Idempotency-Key: %d requests of yours that have one are under way, and no more are allowed: "+
				"try again when one has ended", repeatUnderWay)}
	case e == nil:
		e = &remembered{request: request}
		p.seen[key] = e
		return e, false, nil
	case e.request != request:
		return nil, false, rest.Refuse(http.StatusConflict, "Idempotency-Key: it was used for another request already")
	case !e.done:
		return nil, false, rest.Refuse(http.StatusConflict, "the same request is still under way")
	}
	return e, true, nil
}

// old reports whether a response may be dropped. A request in progress is never old, as it
// would otherwise run twice.
func (p *repeats) old(e *remembered) bool { return e.done && p.now().Sub(e.at) >= repeatKeep }

// makeRoom drops old responses. If many are stored, it also drops the oldest one of the user who
// has the most, so that no user displaces the responses of others. It returns how many requests
// of a user are in progress: those cannot be dropped.
func (p *repeats) makeRoom(user string) (underWay int) {
	users, stored := map[string]*share{}, 0
	for key, e := range p.seen {
		who := userOf(key)
		switch {
		case p.old(e):
			delete(p.seen, key)
			continue
		case !e.done && who == user:
			underWay++
			continue
		case !e.done:
			continue
		}
		s := users[who]
		if s == nil {
			s = &share{oldest: key}
			users[who] = s
		}
		stored++
		if s.count++; e.at.Before(p.seen[s.oldest].at) {
			s.oldest = key
		}
	}
	if stored >= repeatEntries {
		largest := &share{}
		for _, s := range users {
			if s.count > largest.count {
				largest = s
			}
		}
		delete(p.seen, largest.oldest)
	}
	return underWay
}

// userOf returns the user of an entry, whichever key of the API was used.
func userOf(key string) string {
	who, _, _ := strings.Cut(key, "\x00")
	user, _, _ := strings.Cut(who, " ")
	return user
}

// share is the number of stored responses of a user, and the key of the oldest one.
type share struct {
	count  int
	oldest string
}

// transient reports whether the same request may succeed later: after a pending change has
// ended, the session is confirmed, a right is granted, or the object has another version.
func transient(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusConflict, http.StatusPreconditionFailed, http.StatusTooManyRequests:
		return true
	}
	return status >= http.StatusInternalServerError
}

// record runs the request and stores its response. A response to a possibly transient
// failure is dropped, so that the client can retry.
func (p *repeats) record(e *remembered, key string, w http.ResponseWriter, r *http.Request, next http.Handler) {
	copied := &copyWriter{ResponseWriter: w}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if copied.status == 0 || transient(copied.status) || copied.body.Len() > repeatBody {
			if p.seen[key] == e {
				delete(p.seen, key)
			}
			return
		}
		e.status, e.header, e.body, e.done, e.at = copied.status, w.Header().Clone(), copied.body.Bytes(), true, p.now()
	}()
	next.ServeHTTP(copied, r)
}

func (e *remembered) replay(w http.ResponseWriter) {
	for name, values := range e.header {
		w.Header()[name] = values
	}
	w.Header().Set("Idempotent-Replayed", "true")
	w.WriteHeader(e.status)
	w.Write(e.body)
}

// copyWriter keeps a copy of the response.
type copyWriter struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (w *copyWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *copyWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	if w.body.Len() <= repeatBody {
		w.body.Write(b)
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap gives http.ResponseController access to the connection.
func (w *copyWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
