package oidc

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// The size of a provider's answers is limited, and they are read only over https.
func TestAnswersOfAProviderAreBounded(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, maxAnswer+1)) }))
	defer server.Close()
	c := New(Options{Authority: func(string) ([]byte, error) {
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), nil
	}})
	client, err := c.client(Settings{CA: "house"})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if b, err := io.ReadAll(answer.Body); len(b) != maxAnswer || err != nil {
		t.Errorf("got %d bytes were read: %v, want %d", len(b), err, maxAnswer)
	}
	if _, err := client.Get("http://127.0.0.1:1/"); err == nil || client.Timeout != askTime {
		t.Errorf("without TLS: %v, within %v", err, client.Timeout)
	}
}
