package e2e_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/housetest"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

// needs skips the test when one of the programs is missing.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	sysnettest.Need(t, programs...)
}

// servedDir returns a directory readable by all users, with the file "who" that contains a name
// and the file "much" of 300 kB.
func servedDir(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sluice-served-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for file, text := range map[string]string{"who": name, "much": strings.Repeat("abc", 100_000)} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	return dir
}

// each serves every connection to a listener.
func each(l net.Listener, serve func(c net.Conn)) {
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
}

// bothNATs makes an appliance carry two farms of both backends in turn, with a VIP each: one
// rewrites the client's address, the other does not.
func bothNATs(t *testing.T, s *housetest.Site, port int, protocol string) (vips []string) {
	t.Helper()
	yaml := "farms:\n"
	for i, nat := range []string{"nat", "dnat"} {
		vip, _ := s.VIP(200 + i)
		yaml += fmt.Sprintf("- {name: %s, profile: l4xnat, vip: %s, vport: %d, protocol: %s, nattype: %s, algorithm: roundrobin, backends: [{ip: %s}, {ip: %s}]}\n",
			nat, vip, port, protocol, nat, s.Backends[0].V4, s.Backends[1].V4)
		vips = append(vips, vip)
	}
	installed(t, s, "--config", file(t, yaml))
	return vips
}

// listens waits until a TCP port of the machine accepts.
func listens(t *testing.T, m *housetest.Machine, port int) {
	t.Helper()
	within(t, 5*time.Second, m.Name+" listens", func() error {
		c, err := m.Dial(t.Context(), "tcp", netip.AddrPortFrom(netip.MustParseAddr(m.V4), uint16(port)).String())
		if err == nil {
			_ = c.Close()
		}
		return err
	})
}

func TestFTPPassesActiveAndPassive(t *testing.T) {
	needs(t, "vsftpd", "curl", "nft")
	s := housetest.Plan{Backends: 2}.Build(housetest.New(t))
	vip4, vip6 := s.VIP(200)
	yaml := "farms:\n"
	type place struct{ nat, vip string }
	var places []place
	for i, nat := range []string{"nat", "dnat"} {
		for j, vip := range []string{vip4, vip6} {
			// Each NAT type has its own VIP, because FTP has one port.
			if i == 1 {
				vip = strings.Replace(vip, "200", "201", 1)
			}
			backends := []string{s.Backends[0].V4, s.Backends[1].V4}
			if j == 1 {
				backends = []string{s.Backends[0].V6, s.Backends[1].V6}
			}
			yaml += fmt.Sprintf("- {name: f%d%d, profile: l4xnat, vip: %q, vport: 21, protocol: ftp, nattype: %s, algorithm: roundrobin, backends: [{ip: %q}, {ip: %q}]}\n", i, j, vip, nat, backends[0], backends[1])
			places = append(places, place{nat, vip})
		}
	}
	s.VIP(201)
	for _, b := range s.Backends {
		dir, empty := servedDir(t, b.Name), t.TempDir()
		for _, family := range []string{"listen=YES\nlisten_ipv6=NO\nlisten_address=" + b.V4, "listen=NO\nlisten_ipv6=YES\nlisten_address6=" + b.V6} {
			conf := filepath.Join(t.TempDir(), "vsftpd.conf")
			text := family + "\nbackground=NO\nanonymous_enable=YES\nlocal_enable=NO\nno_anon_password=YES\nanon_root=" + dir +
				"\nftp_username=daemon\nnopriv_user=nobody\nsecure_chroot_dir=" + empty + "\nconnect_from_port_20=YES\nisolate=NO\nisolate_network=NO\nseccomp_sandbox=NO\n"
			if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			b.Serve("vsftpd", conf)
		}
		listens(t, b, 21)
	}
	installed(t, s, "--config", file(t, yaml))
	for _, p := range places {
		url := "ftp://" + p.vip + "/"
		if strings.Contains(p.vip, ":") {
			url = "ftp://[" + p.vip + "]/"
		}
		ways := map[string][]string{"passive, EPSV": nil, "active, EPRT": {"--ftp-port", "-"}}
		if !strings.Contains(p.vip, ":") {
			ways["passive, PASV"] = []string{"--disable-epsv"}
			ways["active, PORT"] = []string{"--ftp-port", "-", "--disable-eprt"}
		}
		for way, flags := range ways {
			used := map[string]int{}
			for range 4 {
				who, err := s.Client.Try("", "curl", append(flags, "--silent", "--show-error", "--max-time", "5", url+"who")...)
				if err != nil {
					t.Errorf("%s %s, %s: %v", p.nat, p.vip, way, err)
					break
				}
				used[who]++
			}
			if len(used) != 2 || used["b1"] != 2 {
				t.Errorf("%s %s, %s: in turn: %v", p.nat, p.vip, way, used)
			}
			if much, err := s.Client.Try("", "curl", append(flags, "--silent", "--show-error", "--max-time", "5", url+"much")...); err != nil || len(much) != 300_000 {
				t.Errorf("%s %s, %s: got %d bytes, %v, want 300_000", p.nat, p.vip, way, len(much), err)
			}
		}
	}
}

func TestTFTPPassesAFarm(t *testing.T) {
	needs(t, "in.tftpd", "curl", "nft")
	s := housetest.Plan{Backends: 2}.Build(housetest.New(t))
	for _, b := range s.Backends {
		b.Serve("in.tftpd", "--foreground", "--secure", "--address", b.V4+":69", "--user", "nobody", servedDir(t, b.Name))
	}
	for _, vip := range bothNATs(t, s, 69, "tftp") {
		get := func(name string) (string, error) {
			return s.Client.Try("", "curl", "--silent", "--show-error", "--max-time", "5", "tftp://"+vip+"/"+name)
		}
		within(t, 5*time.Second, "the servers answer", func() error { _, err := get("who"); return err })
		used := map[string]int{}
		for range 6 {
			who, err := get("who")
			if err != nil {
				t.Errorf("%s: %v", vip, err)
			}
			used[who]++
		}
		if used["b1"] != 3 || used["b2"] != 3 {
			t.Errorf("%s: in turn: %v", vip, used)
		}
		if much, err := get("much"); err != nil || len(much) != 300_000 {
			t.Errorf("%s: got %d bytes, %v, want 300_000", vip, len(much), err)
		}
	}
}

func TestSIPCallsPassAFarm(t *testing.T) {
	needs(t, "sipp", "nft")
	s := housetest.Plan{Backends: 2}.Build(housetest.New(t))
	vip, _ := s.VIP(200)
	for _, b := range s.Backends {
		sip(t, b.Namespace, "-sn", "uas", "-i", b.V4, "-p", "5060")
	}
	installed(t, s, "--config", file(t, fmt.Sprintf(`farms:
- {name: calls, profile: l4xnat, vip: %s, vport: 5060, protocol: sip, algorithm: roundrobin, backends: [{ip: 10.10.2.11}, {ip: 10.10.2.12}]}
`, vip)))
	captures := []*housetest.Capture{s.Backends[0].Link.Capture(), s.Backends[1].Link.Capture()}
	for port := range 4 { // each call from another port: another flow
		out, err := s.Client.Try("", "sipp", "-sn", "uac", "-i", "10.10.1.2", "-p", fmt.Sprint(6000+port), "-m", "5", "-r", "100", "-d", "50",
			"-timeout", "8s", "-timeout_error", "-nostdin", "-recv_timeout", "3000", vip+":5060")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for i, c := range captures {
		invites, named := map[string]bool{}, 0 // by call: lost messages are repeated
		for _, f := range c.Stop() {
			if text := string(f.Payload); f.Protocol == "udp" && !f.Outgoing && strings.HasPrefix(text, "INVITE ") {
				_, id, _ := strings.Cut(text, "Call-ID: ")
				id, _, _ = strings.Cut(id, "\r\n")
				if invites[id] {
					continue
				}
				invites[id] = true
				// The helper replaces the VIP by the backend's address, and the client's by
				// the appliance's, so that replies and media return to it.
				if strings.HasPrefix(text, "INVITE sip:service@"+s.Backends[i].V4) && strings.Contains(text, "Via: SIP/2.0/UDP "+housetest.ApplianceBack4) && strings.Contains(text, "c=IN IP4 "+housetest.ApplianceBack4) {
					named++
				}
			}
		}
		if len(invites) != 10 || named != 10 {
			t.Errorf("backend %d got %d calls, of which %d name addresses it can reach", i+1, len(invites), named)
		}
	}
}

// sip starts sipp as a server, which needs a writable directory.
func sip(t *testing.T, n *housetest.Namespace, args ...string) {
	t.Helper()
	cmd := n.Serve("sipp", append(args, "-nostdin", "-trace_err", "-error_file", filepath.Join(t.TempDir(), "errors"))...)
	within(t, 5*time.Second, n.Name+" listens", func() error {
		if out := n.Run("ss", "-lun"); !strings.Contains(out, ":5060 ") {
			return fmt.Errorf("sockets: %s", out)
		}
		return cmd.Err
	})
}
