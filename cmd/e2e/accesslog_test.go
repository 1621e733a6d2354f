package e2e_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// logged returns the lines of a log file; each must be a JSON object.
func (a *appliance) logged(name string) (lines []map[string]any) {
	a.t.Helper()
	b, err := os.ReadFile(filepath.Join(a.data, "log", name))
	if err != nil {
		return nil
	}
	for i, text := range slices.Collect(bytes.Lines(b)) { // a file that was just made has none
		var l map[string]any
		if err := json.Unmarshal(text, &l); err != nil {
			a.t.Fatalf("line %d of %s: %v: %q", i, name, err, text)
		}
		lines = append(lines, l)
	}
	return lines
}

// wantLines waits until a log has that many lines.
func (a *appliance) wantLines(name string, n int) (lines []map[string]any) {
	a.t.Helper()
	within(a.t, 5*time.Second, fmt.Sprintf("%d lines in %s", n, name), func() error {
		if lines = a.logged(name); len(lines) != n {
			return fmt.Errorf("%d lines", len(lines))
		}
		return nil
	})
	return lines
}

func TestAccessLogSurvivesCrashes(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		a := start(t, who, dataDir(t, who))
		url := a.farm("shop", backend(t, "one"))
		a.must("farm", "set", "shop", "logs=true")
		wantAnswer(t, url+"a?token=secret", "one")
		l := a.wantLines("shop.log", 1)[0]
		if l["path"] != "/a?token=***" || l["status"] != 200.0 || l["farm"] != "shop" || l["service"] != "all" || l["client"] != "127.0.0.1" {
			t.Errorf("line %v", l)
		}
		if st, err := os.Stat(filepath.Join(a.data, "log", "shop.log")); err != nil || st.Mode().Perm() != 0o640 {
			t.Errorf("mode %v, %v", st.Mode(), err)
		}
		answered := 1
		ask := func() error {
			_, err := get(url)
			if err == nil {
				answered++
			}
			return err
		}
		for _, role := range []string{"engine", "mgmt", "engine", "mgmt"} {
			for range 20 {
				wantAnswer(t, url, "one")
				answered++
			}
			if role == "mgmt" {
				time.Sleep(300 * time.Millisecond) // lines that are still missing are counted as lost
			}
			a.kill(role)
			within(t, 5*time.Second, "answers after the death of "+role, ask)
		}
		a.wantLines("shop.log", answered)

		moved := filepath.Join(a.data, "log", "shop.log")
		if err := os.Rename(moved, moved+".old"); err != nil {
			t.Fatal(err)
		}
		_ = a.cmd.Process.Signal(syscall.SIGHUP)
		within(t, 5*time.Second, "a new file after SIGHUP", func() error {
			if err := ask(); err != nil {
				return err
			}
			_, err := os.Stat(moved)
			return err
		})
		within(t, 5*time.Second, "every line in the one or the other file", func() error {
			if all := len(a.logged("shop.log")) + len(a.logged("shop.log.old")); all != answered {
				return fmt.Errorf("%d lines for %d answers", all, answered)
			}
			return nil
		})
		a.must("farm", "set", "shop", "log_format=combined", "log_file=second")
		wantAnswer(t, url+"last", "one")
		if err := a.stop(); err != nil {
			t.Fatal(err)
		}
		b, _ := os.ReadFile(filepath.Join(a.data, "log", "second.log"))
		if text := string(b); !strings.Contains(text, `"GET /last HTTP/1.1" 200 `) || strings.Count(text, "\n") != 1 {
			t.Errorf("combined log: %q", text)
		}
	})
}

func TestAccessLogGoesToStandardOutput(t *testing.T) {
	who := identity{name: "user"}
	data := dataDir(t, who)
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	a := startIn(t, who, data, surroundings{shell: "exec >" + out.Name()})
	url := a.farm("shop", backend(t, "one"))
	a.in = surroundings{} // for the commands
	a.must("farm", "set", "shop", "logs=true", "log_sink=stdout")
	wantAnswer(t, url, "one")
	within(t, 5*time.Second, "a line on standard output", func() error {
		b, _ := os.ReadFile(out.Name())
		if !strings.HasPrefix(string(b), `{"time":`) {
			return fmt.Errorf("it holds %q", b)
		}
		return nil
	})
}

// wantTraced checks that the support archive contains the trace, with secrets masked.
func wantTraced(t *testing.T, a *appliance) {
	t.Helper()
	archive := filepath.Join(t.TempDir(), "support.tar.gz")
	a.must("supportsave", archive)
	packed, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(plain); ; {
		h, err := files.Next()
		if err != nil {
			t.Fatalf("log/traces.txt: %v", err)
		}
		if h.Name != "supportsave/log/traces.txt" {
			continue
		}
		text, err := io.ReadAll(files)
		if err != nil || strings.Count(string(text), "/traced?token=***") < 2 || strings.Contains(string(text), "token=secret") {
			t.Errorf("log/traces.txt: %v\n%s", err, text)
		}
		return
	}
}

func TestMetricsAndTraceOfARunningAppliance(t *testing.T) {
	who := identity{name: "user"}
	a := start(t, who, dataDir(t, who), "--open-metrics")
	url := a.farm("shop", backend(t, "one"))
	for range 5 {
		wantAnswer(t, url, "one")
	}
	var text string
	within(t, 5*time.Second, "what was counted", func() error {
		resp, err := insecure.Get("https://" + a.api + "/metrics")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		var b bytes.Buffer
		_, _ = b.ReadFrom(resp.Body)
		if text = b.String(); resp.StatusCode != http.StatusOK || !strings.Contains(text, `sluice_farm_request_seconds_count{farm="shop"} 5`) {
			return fmt.Errorf("%s", resp.Status)
		}
		return nil
	})
	for _, want := range []string{`sluice_farm_requests_total{farm="shop"} 5`, "sluice_engine_up 1\n", "sluice_engine_process_cpu_seconds_total ", `sluice_loop_events_total{loop="0"}`} {
		if !strings.Contains(text, want) {
			t.Errorf("missing: %s", want)
		}
	}

	shown := make(chan string)
	go func() {
		out, _ := a.run("trace", "shop", "--filter", "path=/traced", "--count", "2")
		shown <- out
	}()
	for {
		wantAnswer(t, url+"traced?token=secret", "one") // until the watcher is connected
		wantAnswer(t, url+"other", "one")
		select {
		case out := <-shown:
			if strings.Count(out, "/traced?token=***") != 2 || strings.Contains(out, "/other") || !strings.Contains(out, "BACKEND") {
				t.Errorf("the trace:\n%s", out)
			}
			wantTraced(t, a)
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}
