// Package oidctest provides an OpenID Connect provider that runs as long as a test, and
// checks the requests of a client.
package oidctest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc/oidctest"
)

// The client of the provider.
const (
	ClientID     = "sluice"
	ClientSecret = "s3cret of the client"
)

// Provider authenticates every user who logs in. A test may set its fields before that.
type Provider struct {
	// Claims are added to the claims of tokens, or replace them; nil values remove a claim.
	Claims map[string]any
	// Answer replaces the answer with the token.
	Answer http.HandlerFunc
	// Forged: tokens are signed with another key than the published one.
	Forged bool
	// Description replaces the provider's metadata.
	Description http.HandlerFunc
	// Described counts the requests for the metadata.
	Described atomic.Int32

	// Describe returns the metadata without a Description.
	Describe http.HandlerFunc

	server *httptest.Server
	key    *ecdsa.PrivateKey
	now    func() time.Time
	mu     sync.Mutex
	codes  map[string]url.Values // the queries, by code
}

// New starts a provider; tokens have the time of the clock.
func New(t testing.TB, now func() time.Time) *Provider {
	t.Helper()
	p := &Provider{now: now, codes: map[string]url.Values{}, key: newKey(t)}
	pages := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: p.key.Public(), KeyID: "one", Algorithm: "ES256"}}, Algorithms: []string{"ES256"}}
	p.Describe = pages.ServeHTTP
	mux := http.NewServeMux()
	mux.Handle("/", pages)
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, r *http.Request) {
		p.Described.Add(1)
		if p.Description != nil {
			p.Description(w, r)
			return
		}
		pages.ServeHTTP(w, r)
	})
	mux.HandleFunc("GET /auth", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	p.server = httptest.NewTLSServer(mux)
	t.Cleanup(p.server.Close)
	pages.SetIssuer(p.server.URL)
	return p
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Issuer returns the issuer name.
func (p *Provider) Issuer() string { return p.server.URL }

// PEM returns the certificate that verifies the provider's.
func (p *Provider) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
}

// LogIn acts as the browser at the provider: a known user logs in, and the provider redirects
// with this query.
func (p *Provider) LogIn(t testing.TB, to string) url.Values {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil || u.Host != p.server.Listener.Addr().String() || !complete(u.Query()) {
		t.Fatalf("the browser is sent to %s: %v", to, err)
	}
	return p.vouch(u.Query())
}

// authorize is LogIn for browsers that connect to the provider. It needs no credentials.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if !complete(q) {
		http.Error(w, "the query is not what a client sends", http.StatusBadRequest)
		return
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+p.vouch(q).Encode(), http.StatusFound)
}

// complete reports whether a client sends all required parameters.
func complete(q url.Values) bool {
	return q.Get("response_type") == "code" && q.Get("client_id") == ClientID && q.Get("code_challenge_method") == "S256" &&
		q.Get("state") != "" && q.Get("nonce") != "" && q.Get("redirect_uri") != ""
}

// vouch returns the query of the redirect after a login.
func (p *Provider) vouch(q url.Values) url.Values {
	code := rand.Text()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.codes[code] = q
	return url.Values{"code": {code}, "state": {q.Get("state")}}
}

// token answers with a token for a code, once.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	if p.Answer != nil {
		p.Answer(w, r)
		return
	}
	p.mu.Lock()
	asked, is := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	p.mu.Unlock()
	user, secret, _ := r.BasicAuth()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	w.Header().Set("Content-Type", "application/json")
	if id, _ := url.QueryUnescape(user); !is || id != ClientID || !isSecret(secret) || base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge") || r.PostFormValue("redirect_uri") != asked.Get("redirect_uri") {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":"invalid_grant","error_description":"no such code"}`))
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "none", "token_type": "Bearer", "id_token": p.signed(asked.Get("nonce"))})
}

func isSecret(sent string) bool {
	text, err := url.QueryUnescape(sent)
	return err == nil && text == ClientSecret
}

func (p *Provider) signed(nonce string) string {
	claims := map[string]any{"iss": p.server.URL, "aud": ClientID, "sub": "1", "nonce": nonce, "iat": p.now().Unix(), "exp": p.now().Add(time.Minute).Unix()}
	maps.Copy(claims, p.Claims)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	b, _ := json.Marshal(claims)
	key := p.key
	if p.Forged {
		key, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	return oidctest.SignIDToken(key, "one", "ES256", string(b))
}
