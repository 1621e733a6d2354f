package support_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/logtest"
	"github.com/sluicelb/sluice/mgmt/logfiles"
	"github.com/sluicelb/sluice/mgmt/support"
)

func now() time.Time { return time.Unix(1, 0) }

// files returns the files of an archive.
func files(t *testing.T, b []byte) map[string]string {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimPrefix(h.Name, "supportsave/")] = string(content)
	}
}

func collect(t *testing.T, parts ...support.Part) map[string]string {
	t.Helper()
	b, err := support.New(func() []support.Part { return parts }, now).Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return files(t, b)
}

func TestPartIsTruncatedAndShowsErrors(t *testing.T) {
	got := collect(t,
		support.Part{Name: "long", Limit: 10, Write: func(_ context.Context, w io.Writer) error {
			for range 100 {
				if _, err := io.WriteString(w, "0123"); err != nil {
					return fmt.Errorf("writing: %w", err)
				}
			}
			return nil
		}},
		support.Part{Name: "broken", Write: func(_ context.Context, w io.Writer) error {
			_, _ = io.WriteString(w, "half")
			return errors.New("netd is away")
		}},
		support.Text("whole", func() string { return "all" }),
	)
	if got["long"] != "0123012301\n[cut here]\n" || got["broken"] != "half\n[not known: netd is away]\n" || got["whole"] != "all" || len(got) != 3 {
		t.Errorf("%q", got)
	}
}

func TestAllPartsTogetherAreBounded(t *testing.T) {
	var parts []support.Part
	zero := make([]byte, 1<<20)
	for i := range 100 {
		parts = append(parts, support.Part{Name: fmt.Sprint(i), Write: func(_ context.Context, w io.Writer) error { _, err := w.Write(zero); return err }})
	}
	got := collect(t, parts...)
	total := 0
	for _, content := range got {
		total += len(content)
	}
	if total > 33<<20 || len(got) != 100 || !strings.Contains(got["99"], "[cut here]") {
		t.Errorf("%d bytes in %d files", total, len(got))
	}
}

func TestCollectionsAreExclusiveAndCancellable(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	c := support.New(func() []support.Part {
		return []support.Part{{Name: "slow", Write: func(ctx context.Context, w io.Writer) error { close(begun); <-end; return nil }},
			{Name: "late", Write: func(ctx context.Context, w io.Writer) error { t.Error("nobody waits for it"); return nil }}}
	}, now)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan []byte)
	go func() { b, _ := c.Collect(ctx); done <- b }()
	<-begun
	if _, err := c.Collect(t.Context()); !errors.Is(err, support.ErrBusy) {
		t.Errorf("the second: %v", err)
	}
	cancel()
	close(end)
	if got := files(t, <-done); !strings.Contains(got["late"], "not known") {
		t.Errorf("%q", got)
	}
}

func TestSecretsAreMasked(t *testing.T) {
	for text, want := range map[string]string{
		`password=hunter22 x`:                       `password=*** x`,
		`"smtp_password": "hunter 22", "x": 1`:      `"smtp_password": ***, "x": 1`,
		`community: s3cret`:                         `community: ***`,
		`GET /a?token=abc&x=1`:                      `GET /a?token=***&x=1`,
		`SLUICE_SECRET_KEY='a b'`:                   `SLUICE_SECRET_KEY=***`,
		`zapikey: AbC`:                              `zapikey: ***`,
		`Authorization: Basic YTpi`:                 `Authorization: ***`,
		`"cookie": "CGISESSID=1; a=b"`:              `"cookie": "***"`,
		`http://user:pass@proxy:3128/`:              `http://user:***@proxy:3128/`,
		`$2a$10$abcdefghijklmnopqrstuv`:             `***`,
		`$argon2id$v=19$m=1,t=1,p=1$c2FsdA$aGFzaA"`: `***"`,
		"-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----\nx": "[a private key]\nx",
		"-----BEGIN PRIVATE KEY-----\nMHc":                                     "[a private key]",
		`farm shop, 3 backends, keyboard`:                                      `farm shop, 3 backends, keyboard`,
	} {
		if got := string(support.Scrub([]byte(text))); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	if got := collect(t, support.Text("x", func() string { return "password=hunter22" })); strings.Contains(got["x"], "hunter22") {
		t.Error("a part is not looked at")
	}
}

func TestMachineProcessAndLogsAreThere(t *testing.T) {
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(filepath.Join(dir, "log"), 0o700))
	must(os.WriteFile(filepath.Join(dir, "log", "shop.log"), []byte(strings.Repeat("line\n", 3000)), 0o600))
	must(os.WriteFile(filepath.Join(dir, "audit.log"), []byte("{}\n"), 0o600))
	root, err := os.OpenRoot(dir)
	must(err)
	defer root.Close()
	parts := append(support.Machine("/proc"), support.Process()...)
	got := collect(t, append(parts, support.LogFiles(logfiles.Dir{Root: root})...)...)
	for name, part := range map[string]string{"kernel/uptime": " ", "kernel/net-dev": "lo:", "kernel/self-status": "Threads:", "process/build.txt": "go", "process/goroutines.txt": "goroutine ", "process/memory.txt": "heap in use", "log/sluice-audit.log.txt": "{}"} {
		if !strings.Contains(got[name], part) {
			t.Errorf("%s: %.100q", name, got[name])
		}
	}
	if n := strings.Count(got["log/shop.log.txt"], "line"); n != 2000 {
		t.Errorf("%d lines of a log", n)
	}
	if none := collect(t, support.Machine(dir)...); !strings.Contains(none["kernel/uptime"], "has none") {
		t.Errorf("%q", none["kernel/uptime"])
	}
}

func TestTheEndOfALogIsKept(t *testing.T) {
	var tail support.Tail
	var seen logtest.Log
	log := slog.New(tail.Beside(slog.NewTextHandler(&seen, nil)))
	log.Debug("not logged")
	log.With("a", 1).WithGroup("g").Info("first", "b", 2)
	if got := collect(t, tail.Part("log"))["log"]; !strings.Contains(got, "msg=first a=1 g.b=2") || strings.Contains(got, "not logged") {
		t.Errorf("kept %q", got)
	}
	if !strings.Contains(seen.String(), "first") {
		t.Error("it is logged no more")
	}
	for i := range 3000 {
		log.Info(fmt.Sprintf("line %d %s", i, strings.Repeat("x", 60)))
	}
	got := collect(t, tail.Part("log"))["log"]
	if len(got) > 64<<10 || len(got) < 60<<10 || !strings.HasPrefix(got, "time=") || !strings.Contains(got, "line 2999") || strings.Contains(got, "line 0 ") {
		t.Errorf("%d bytes, begins %.50q", len(got), got)
	}
	_, _ = tail.Write([]byte(strings.Repeat("y", 100<<10)))
	if got := collect(t, tail.Part("log"))["log"]; len(got) > 64<<10 {
		t.Errorf("%d bytes", len(got))
	}
}
