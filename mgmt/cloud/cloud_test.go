package cloud_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/cloud"
)

const good = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"

// memory stores documents as JSON.
type memory map[string][]byte

func (m memory) ReadDocument(name string, into any) (bool, error) {
	if m[name] == nil {
		return false, nil
	}
	return true, json.Unmarshal(m[name], into)
}

func (m memory) WriteDocument(name string, value any) (err error) {
	m[name], err = json.Marshal(value)
	return err
}

// box seals by reversing bytes.
type box struct{}

func (box) SealSecret(_ string, plain []byte) ([]byte, error) { return turned(plain), nil }
func (box) OpenSecret(_ string, sealed []byte) ([]byte, error) {
	return turned(sealed), nil
}

func turned(b []byte) []byte {
	out := make([]byte, len(b))
	for i, c := range b {
		out[i] = c ^ 0x55
	}
	return out
}

type house struct {
	*cloud.Manager
	kept memory
	log  *strings.Builder
	asks []*http.Request
	// body is the answer, with status.
	status int
	body   string
}

// newHouse returns a manager whose clouds are one server, which records the requests.
func newHouse(t *testing.T) *house {
	h := &house{kept: memory{}, log: &strings.Builder{}, status: 200}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		form, _ := io.ReadAll(r.Body)
		r.Form, _ = url.ParseQuery(string(form))
		h.asks = append(h.asks, r)
		if h.status/100 == 3 {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(h.status)
		io.WriteString(w, h.body)
	}))
	t.Cleanup(s.Close)
	h.Manager = cloud.New(cloud.Options{Store: h.kept, Secrets: box{}, AWS: func(region string) string { return s.URL + "/" + region }, Azure: s.URL,
		Log: slog.New(slog.NewTextHandler(h.log, nil)), Now: func() time.Time { return time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC) }})
	return h
}

func (h *house) set(c cloud.Credentials) (cloud.Account, error) {
	return h.Set(context.Background(), apply.Author{Name: "root"}, c, func() error { return nil })
}

func wants(t *testing.T, err error, says string) {
	t.Helper()
	if known, ok := errors.AsType[*cloud.Error](err); !ok || !strings.Contains(known.Error(), says) || strings.Contains(err.Error(), good) {
		t.Errorf("got %v, want %q", err, says)
	}
}

var (
	aws      = cloud.Credentials{Provider: cloud.AWS, ID: "AKIDEXAMPLE000000", Place: "eu-west-1", Secret: good}
	azure    = cloud.Credentials{Provider: cloud.Azure, ID: "11111111-2222-3333-4444-555555555555", Place: "example.onmicrosoft.com", Secret: good}
	identity = `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Arn>arn:aws:iam::123456789012:user/lb</Arn><UserId>A</UserId><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`
)

func TestCredentialsAreKeptOnceTheCloudTookThem(t *testing.T) {
	h := newHouse(t)
	_, err := h.Check(t.Context())
	wants(t, err, "there are no credentials")
	h.body = identity
	account, err := h.set(aws)
	if err != nil || account != (cloud.Account{ID: "123456789012", Name: "arn:aws:iam::123456789012:user/lb"}) {
		t.Fatalf("%v %v", account, err)
	}
	r := h.asks[0]
	if r.URL.Path != "/eu-west-1" || r.Form.Get("Action") != "GetCallerIdentity" || !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE000000/20150830/eu-west-1/sts/aws4_request,") {
		t.Errorf("the request is %s %v %v", r.URL, r.Form, r.Header)
	}
	kept, err := h.Kept()
	if err != nil || kept.ID != aws.ID || kept.Secret != "" || kept.Sealed != nil {
		t.Errorf("kept %+v %v", kept, err)
	}
	if _, err := h.Check(t.Context()); err != nil || h.asks[1].Header.Get("Authorization") != r.Header.Get("Authorization") {
		t.Errorf("the stored account makes another request: %v", err)
	}
	for name, b := range h.kept {
		if strings.Contains(string(b), good) {
			t.Errorf("%s holds the secret", name)
		}
	}
	h.body = `{"access_token":"t","token_type":"Bearer"}`
	if account, err = h.set(azure); err != nil || account.ID != azure.Place {
		t.Errorf("%v %v", account, err)
	}
	r = h.asks[2]
	if r.URL.Path != "/example.onmicrosoft.com/oauth2/v2.0/token" || r.Form.Get("client_secret") != good || r.Form.Get("grant_type") != "client_credentials" {
		t.Errorf("the request is %s %v", r.URL, r.Form)
	}
	if strings.Contains(h.log.String(), good) {
		t.Error("the secret is in the log")
	}
}

func TestRefusedCredentialsReplacePreviousOnes(t *testing.T) {
	for _, c := range []struct {
		of     cloud.Credentials
		status int
		body   string
		says   string
	}{
		{aws, 403, `<ErrorResponse><Error><Code>InvalidClientTokenId</Code></Error></ErrorResponse>`, "InvalidClientTokenId, status 403"},
		{aws, 500, "<", "status 500"},
		{aws, 200, "<html></html>", "names no account"},
		{aws, 307, "", "status 307"},
		{azure, 401, `{"error":"invalid_client"}`, "invalid_client, status 401"},
		{azure, 200, `{}`, "holds no token"},
		{azure, 200, `nonsense`, "holds no token"},
	} {
		h := newHouse(t)
		h.body = identity
		if _, err := h.set(aws); err != nil {
			t.Fatal(err)
		}
		h.status, h.body = c.status, c.body
		_, err := h.set(c.of)
		wants(t, err, c.says)
		wants(t, err, "logged out")
		if kept, _ := h.Kept(); kept.Provider != "" {
			t.Errorf("%s: still there: %+v", c.says, kept)
		}
		if len(h.asks) != 2 {
			t.Errorf("%s: %d questions: it was followed elsewhere", c.says, len(h.asks))
		}
	}
}

func TestMalformedCredentialsAreRefusedLocally(t *testing.T) {
	h := newHouse(t)
	h.body = identity
	if _, err := h.set(aws); err != nil {
		t.Fatal(err)
	}
	with := func(c cloud.Credentials, edit func(*cloud.Credentials)) cloud.Credentials { edit(&c); return c }
	for says, c := range map[string]cloud.Credentials{
		"provider must be one of": {Provider: "else"},
		"access_key must be":      with(aws, func(c *cloud.Credentials) { c.ID = "../x" }),
		"region must be":          with(aws, func(c *cloud.Credentials) { c.Place = "evil.example/" }),
		"secret_key must be":      with(aws, func(c *cloud.Credentials) { c.Secret = "a\nb" }),
		"user must be":            with(azure, func(c *cloud.Credentials) { c.ID = "me" }),
		"tenant must be":          with(azure, func(c *cloud.Credentials) { c.Place = "a/../b" }),
		"password must be":        with(azure, func(c *cloud.Credentials) { c.Secret = "" }),
	} {
		_, err := h.set(c)
		wants(t, err, says)
	}
	end := errors.New("only tried")
	if _, err := h.Set(t.Context(), apply.Author{}, azure, func() error { return end }); !errors.Is(err, end) {
		t.Errorf("tried: %v", err)
	}
	if kept, _ := h.Kept(); kept.ID != aws.ID || len(h.asks) != 1 {
		t.Errorf("%d questions, kept %+v", len(h.asks), kept)
	}
	if err := h.LogOut(apply.Author{Name: "root"}); err != nil {
		t.Fatal(err)
	}
	if kept, _ := h.Kept(); kept.Provider != "" || strings.Contains(string(h.kept["cloud credentials"]), aws.ID) {
		t.Errorf("after the log-out there is %+v", kept)
	}
}

func TestUnreachableCloudIsReported(t *testing.T) {
	m := cloud.New(cloud.Options{Store: memory{}, Secrets: box{}, AWS: func(string) string { return "http://127.0.0.1:1/" }})
	_, err := m.Set(t.Context(), apply.Author{}, aws, func() error { return nil })
	wants(t, err, "does not answer at 127.0.0.1:1")
}
