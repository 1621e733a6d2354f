package e2e_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// demoPassword matches the password, which differs at each start.
var demoPassword = regexp.MustCompile(`password "[^"]+"`)

var demoFarm = regexp.MustCompile(`farm "demo" +(http://\S+)`)

// demo starts the demonstration and returns the address of its farm.
func demo(t *testing.T, who identity, data string) (url, text string, stop func() error) {
	t.Helper()
	a := &appliance{t: t, who: who, data: data}
	cmd := a.command("demo", "--data", data)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = io.Discard
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 1)
	ended := make(chan error, 1)
	go func() {
		var all strings.Builder
		for sc := bufio.NewScanner(stdout); sc.Scan(); {
			all.WriteString(sc.Text() + "\n")
			if strings.Contains(sc.Text(), "maintenance") { // the last line printed
				said <- all.String()
			}
		}
		ended <- cmd.Wait()
	}()
	stop = func() error {
		_ = cmd.Process.Signal(syscall.SIGINT)
		select {
		case err := <-ended:
			ended <- err
			return err
		case <-time.After(15 * time.Second):
			_ = cmd.Process.Kill()
			return os.ErrDeadlineExceeded
		}
	}
	t.Cleanup(func() { _ = stop() })
	select {
	case text = <-said:
	case err := <-ended:
		ended <- err
		t.Fatalf("the demonstration ended: %v", err)
	case <-time.After(20 * time.Second):
		t.Fatal("no output of the demonstration")
	}
	m := demoFarm.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no farm in:\n%s", text)
	}
	return m[1], demoPassword.ReplaceAllString(text, "password"), stop
}

func TestDemoShowsBothBackendsAndRestarts(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		data := dataDir(t, who)
		var first string
		for i := range 2 {
			url, text, stop := demo(t, who, data)
			if first == "" {
				first = text
			}
			if text != first {
				t.Errorf("output of the second start\n%s\nof the first start\n%s", text, first)
			}
			a := &appliance{t: t, who: who, data: data}
			if out := a.must("backend", "list", "demo"); strings.Count(out, "127.0.0.1") != 2 || !strings.Contains(out, " 0  ") {
				t.Errorf("time %d:\n%s", i, out)
			}
			for _, name := range []string{"blue", "green"} {
				within(t, 5*time.Second, "backend "+name+" answers", func() error {
					got, err := get(url)
					if err == nil && !strings.Contains(got, name) {
						err = os.ErrNotExist
					}
					return err
				})
			}
			if !strings.Contains(text, "key create") || !strings.Contains(text, "https://127.0.0.1:") {
				t.Errorf("output:\n%s", text)
			}
			if i == 0 { // files of an earlier start are ignored
				a.must("farm", "set", "demo", fmt.Sprintf("vport=%d", freePort(t)))
				a.must("backend", "delete", "demo", "blue")
			}
			if err := stop(); err != nil {
				t.Errorf("Ctrl-C: %v", err)
			}
		}
	})
}

func TestDemoUsesAFreePort(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		data := dataDir(t, who)
		first, _, stop := demo(t, who, data)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp4", strings.TrimSuffix(strings.TrimPrefix(first, "http://"), "/"))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		second, _, _ := demo(t, who, data)
		if second == first {
			t.Fatalf("the output has %s, where another program listens", second)
		}
		if got, err := get(second); err != nil || !strings.Contains(got, "Hello") {
			t.Errorf("%s answered %q, %v", second, got, err)
		}
	})
}

func TestDemoKeepsForeignFarms(t *testing.T) {
	asEachUser(t, func(t *testing.T, who identity) {
		data := dataDir(t, who)
		a := start(t, who, data)
		a.farm("mine", backend(t, "one"))
		if err := a.stop(); err != nil {
			t.Fatal(err)
		}
		d := &appliance{t: t, who: who, data: data}
		cmd := d.command("demo", "--data", data)
		late := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), `has a farm "mine"`) || !strings.Contains(string(out), "choose another --data") {
			t.Errorf("%v\n%s", err, out)
		}
		a = start(t, who, data)
		a.must("farm", "show", "mine")
	})
}
