package line_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHostRequestIsAnswered(t *testing.T) {
	_, l := pair(t, &fake{})
	request := "\xff {}" + strings.Repeat("x", 3000)
	if answer, err := l.HostRequest(t.Context(), "dns", []byte(request)); string(answer) != "dns: "+request || err != nil {
		t.Errorf("%q, %v", answer, err)
	}
	if answer, err := l.HostRequest(t.Context(), "", nil); answer != nil || err == nil || err.Error() != "no kind" {
		t.Errorf("a failing request: %q, %v", answer, err)
	}
	if answer, err := l.HostRequest(t.Context(), "dns", make([]byte, 5000)); answer != nil || err == nil {
		t.Errorf("a request larger than a message: %q, %v", answer, err)
	}
}

func TestHostRequestsDelayNoOther(t *testing.T) {
	s := &fake{password: "right", checks: make(chan struct{})}
	post, l := pair(t, s)
	const most = 4
	errs := make(chan error, most+1)
	for range most + 1 {
		go func() {
			_, err := l.HostRequest(t.Context(), "dns", nil)
			errs <- err
		}()
	}
	if err := <-errs; err == nil || !strings.Contains(err.Error(), "try again") {
		t.Errorf("one too many: %v", err)
	}
	if roles, err := l.Roles(t.Context()); err != nil || len(roles) != 1 {
		t.Errorf("meanwhile: %v, %v", roles, err)
	}
	for range most - 1 {
		s.checks <- struct{}{}
		if err := <-errs; err != nil {
			t.Errorf("the other requests: %v", err)
		}
	}
	post.Close() // ends the last one
	if err := <-errs; err == nil {
		t.Error("answered after the end")
	}
	_, l = pair(t, &fake{})
	for i := range 2 * most {
		if _, err := l.HostRequest(t.Context(), "dns", nil); err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
	}
}

func TestReplacedListenerIsPassed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, l := pair(t, &fake{})
	f, err := l.ListenAPI(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); string(b) != "x" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if f, err := l.ListenAPI(t.Context(), ""); f != nil || err == nil || err.Error() != "no port is free" {
		t.Errorf("%v, %v", f, err)
	}
}
