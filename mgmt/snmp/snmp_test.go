package snmp_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/snmp"
)

const base = ".1.3.6.1.4.1.8072.9999.9999.83"

func data() snmp.Data {
	return snmp.Data{
		Version: "1.2.3", Revision: 47, Roles: "engine running", UpTime: time.Minute,
		Farms: []snmp.Farm{
			{ID: 1, Name: "shop", Profile: "https", Status: "up", VIP: "192.0.2.10", Ports: "443", Open: 3, Connections: 1 << 40, Requests: 5, BytesIn: 6, BytesOut: 7, Errors: 8},
			{ID: 300, Name: "dns", Profile: "l4xnat", Status: "problem", VIP: "192.0.2.11", Ports: "53"},
		},
		Backends: []snmp.Backend{
			{ID: 2, Farm: "shop", Service: "web", Address: "10.0.0.1:80", Status: "up", Number: 0, Weight: 1, Open: 1 << 40, Connections: 2, Requests: 3, BytesIn: 4, BytesOut: 5, Errors: 6},
			{ID: 65535, Farm: "dns", Address: "10.0.0.2:53", Status: "down", Number: 1, Weight: 9},
		},
	}
}

// snmpd is Debian's, on a port and a socket of its own.
type snmpd struct {
	t      *testing.T
	dir    string
	port   int
	cmd    *exec.Cmd
	socket string
}

func newSnmpd(t *testing.T) *snmpd {
	t.Helper()
	for _, program := range []string{"snmpd", "snmpwalk"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	dir, err := os.MkdirTemp("/tmp", "snmp") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &snmpd{t: t, dir: dir, port: c.LocalAddr().(*net.UDPAddr).Port, socket: filepath.Join(dir, "agentx")}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	conf := fmt.Sprintf("agentaddress udp:127.0.0.1:%d\nrocommunity letmein 127.0.0.0/8\nmaster agentx\nagentXSocket %s\nagentXPerms 0660 0755\n", s.port, s.socket)
	if err := os.WriteFile(filepath.Join(dir, "snmpd.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s
}

func (s *snmpd) start() {
	s.t.Helper()
	s.cmd = exec.Command("snmpd", "-f", "-Lf", filepath.Join(s.dir, "log"), "-I", "-smux", "-C", "-c", filepath.Join(s.dir, "snmpd.conf"), "-p", filepath.Join(s.dir, "pid"))
	s.cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "SNMP_PERSISTENT_DIR=" + filepath.Join(s.dir, "state"), "MIBS="}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *snmpd) stop() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

func (s *snmpd) ask(program, community string, args ...string) (string, error) {
	args = append([]string{"-v2c", "-c", community, "-t", "1", "-r", "1", "-On", "-m", "", fmt.Sprintf("127.0.0.1:%d", s.port)}, args...)
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "SNMP_PERSISTENT_DIR="+filepath.Join(s.dir, "state"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// agent runs one until the test ends.
func agent(t *testing.T, s *snmpd, read func() snmp.Data) *snmp.Agent {
	t.Helper()
	a := snmp.New(snmp.Options{Socket: s.socket, Read: read, Log: slog.New(slog.DiscardHandler), FirstPause: 10 * time.Millisecond, LongestPause: 50 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); a.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return a
}

func is(on bool) *farm.System { return &farm.System{SNMP: farm.SNMP{On: on}} }

func eventually(t *testing.T, what func() string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what())
		}
	}
}

func connected(a *snmp.Agent) func() bool {
	return func() bool { return a.State() == "connected to snmpd" }
}

func TestSnmpdServesFarmsAndBackends(t *testing.T) {
	s := newSnmpd(t)
	s.start()
	a := agent(t, s, data)
	a.Settle(t.Context(), is(true))
	eventually(t, a.State, connected(a))
	walk, err := s.ask("snmpwalk", "letmein", base)
	if err != nil {
		t.Fatalf("%v\n%s", err, walk)
	}
	lines := strings.Split(strings.TrimSpace(walk), "\n")
	if want := 4 + 2*11 + 2*12; len(lines) != want {
		t.Errorf("%d values, want %d:\n%s", len(lines), want, walk)
	}
	for _, want := range []string{
		".1.1.0 = STRING: \"1.2.3\"", ".1.2.0 = Gauge32: 47", ".1.3.0 = STRING: \"engine running\"", ".1.4.0 = Timeticks: (6000) 0:01:00.00",
		".2.1.1.2.1 = STRING: \"shop\"", ".2.1.1.2.300 = STRING: \"dns\"", ".2.1.1.4.300 = STRING: \"problem\"", ".2.1.1.7.1 = Gauge32: 3", ".2.1.1.8.1 = Counter64: 1099511627776", ".2.1.1.12.1 = Counter64: 8",
		".3.1.1.2.2 = STRING: \"shop\"", ".3.1.1.5.65535 = STRING: \"10.0.0.2:53\"", ".3.1.1.7.65535 = Gauge32: 9", ".3.1.1.8.2 = Gauge32: 4294967295", ".3.1.1.13.2 = Counter64: 6",
	} {
		if !slices.Contains(lines, base+want) {
			t.Errorf("%s is missing in\n%s", want, walk)
		}
	}
	if got, err := s.ask("snmpget", "letmein", base+".2.1.1.2.1", base+".2.1.1.2.2", base+".1.2.0"); err != nil || !strings.Contains(got, `"shop"`) || !strings.Contains(got, "No Such") || !strings.Contains(got, "Gauge32: 47") {
		t.Errorf("three at once: %v\n%s", err, got)
	}
	if got, err := s.ask("snmpbulkwalk", "letmein", base); err != nil || strings.TrimSpace(got) != strings.TrimSpace(walk) {
		t.Errorf("in bulk: %v\n%s", err, got)
	}
	if got, err := s.ask("snmpwalk", "wrong", base); err == nil || !strings.Contains(got, "Timeout") {
		t.Errorf("with another community: %v\n%s", err, got)
	}
	if got, err := s.ask("snmpset", "letmein", base+".1.1.0", "s", "x"); err == nil {
		t.Errorf("something was set:\n%s", got)
	}
	a.Settle(t.Context(), is(false))
	eventually(t, a.State, func() bool { return a.State() == "off" })
	if got, _ := s.ask("snmpwalk", "letmein", base); !strings.Contains(got, "No Such Object") {
		t.Errorf("the value is shown while it is off:\n%s", got)
	}
}

func TestAgentReconnectsToSnmpd(t *testing.T) {
	s := newSnmpd(t)
	a := agent(t, s, data)
	a.Settle(t.Context(), is(true))
	eventually(t, a.State, func() bool {
		return a.State() == "waits for snmpd: it does not run, or has not read its settings"
	})
	for range 2 {
		s.start()
		eventually(t, a.State, connected(a))
		if got, err := s.ask("snmpget", "letmein", base+".1.1.0"); err != nil || !strings.Contains(got, "1.2.3") {
			t.Errorf("%v\n%s", err, got)
		}
		s.stop()
		eventually(t, a.State, func() bool { return !connected(a)() })
	}
}

// Rows may change during a walk. Responses stay in order, and the data is not read for
// each request.
func TestAWalkReadsTheDataRarely(t *testing.T) {
	s := newSnmpd(t)
	s.start()
	var reads atomic.Int64
	a := agent(t, s, func() snmp.Data {
		d := data()
		if reads.Add(1)%2 == 0 {
			d.Farms = d.Farms[1:]
		}
		for id := uint32(1000); id < 1500; id++ {
			d.Backends = append(d.Backends[:len(d.Backends):len(d.Backends)], snmp.Backend{ID: id + 65535, Farm: "shop"})
		}
		return d
	})
	a.Settle(t.Context(), is(true))
	eventually(t, a.State, connected(a))
	began := time.Now()
	walk, err := s.ask("snmpwalk", "letmein", base)
	if n := strings.Count(walk, "\n"); err != nil || n < 4+11+502*12 {
		t.Errorf("%v, %d values", err, n)
	}
	if most := int64(time.Since(began)/(2*time.Second)) + 2; reads.Load() > most {
		t.Errorf("read %d times, at most %d were expected", reads.Load(), most)
	}
}
