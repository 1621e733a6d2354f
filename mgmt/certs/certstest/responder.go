package certstest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"
)

// Responder is an OCSP responder on loopback. Its fields may be changed under Lock.
type Responder struct {
	sync.Mutex
	// Authority signs the responses: the issuer, or a delegate whose certificate is
	// included.
	Authority *Authority
	// Status is ocsp.Good, ocsp.Revoked or ocsp.Unknown.
	Status int
	// ThisUpdate and NextUpdate are the times in responses.
	ThisUpdate, NextUpdate time.Time
	// Answer replaces the response if it is set.
	Answer http.HandlerFunc
	asked  int

	server *httptest.Server
}

// NewResponder starts a responder. Set its Authority before the first request.
func NewResponder(t testing.TB) *Responder {
	r := &Responder{Status: ocsp.Good}
	r.server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.server.Close)
	return r
}

// URL returns its address.
func (r *Responder) URL() string { return r.server.URL }

// Asked returns the number of requests.
func (r *Responder) Asked() int {
	r.Lock()
	defer r.Unlock()
	return r.asked
}

func (r *Responder) serve(w http.ResponseWriter, req *http.Request) {
	r.Lock()
	defer r.Unlock()
	r.asked++
	if r.Answer != nil {
		r.Answer(w, req)
		return
	}
	body, _ := io.ReadAll(req.Body)
	question, err := ocsp.ParseRequest(body)
	if err != nil || req.Method != http.MethodPost || req.Header.Get("Content-Type") != "application/ocsp-request" || req.Header.Get("Accept") != "application/ocsp-response" {
		http.Error(w, "no question", http.StatusBadRequest)
		return
	}
	issuer := r.Authority
	answer := ocsp.Response{Status: r.Status, SerialNumber: question.SerialNumber, ThisUpdate: r.ThisUpdate, NextUpdate: r.NextUpdate, RevokedAt: r.ThisUpdate}
	if r.Authority.Issuer != nil && !r.Authority.Cert.IsCA {
		issuer, answer.Certificate = r.Authority.Issuer, r.Authority.Cert
	}
	der, err := ocsp.CreateResponse(issuer.Cert, r.Authority.Cert, answer, r.Authority.Key)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/ocsp-response")
	_, _ = w.Write(der)
}
