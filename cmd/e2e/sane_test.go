package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicelb/sluice/sysnet/housetest"
)

// folder returns a new folder with these files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The image uses a separate connection, to a port announced by the scanner.
func TestSANEScansPassAFarm(t *testing.T) {
	needs(t, "saned", "scanimage", "env")
	s := housetest.Plan{Backends: 2}.Build(housetest.New(t))
	yaml := "farms:\n"
	var scanners []string
	for i, nat := range []string{"nat", "dnat"} {
		v4, v6 := s.VIP(200 + i)
		for j, vip := range []string{v4, v6} {
			backends := [2]string{s.Backends[0].V4, s.Backends[1].V4}
			if j == 1 {
				backends = [2]string{s.Backends[0].V6, s.Backends[1].V6}
				vip = "[" + vip + "]"
			}
			yaml += fmt.Sprintf("- {name: f%d%d, profile: l4xnat, vip: %q, vport: 6566, protocol: sane, nattype: %s, algorithm: roundrobin, backends: [{ip: %q, port: 6566}, {ip: %q}]}\n", i, j, [2]string{v4, v6}[j], nat, backends[0], backends[1])
			scanners = append(scanners, vip)
		}
	}
	for i, b := range s.Backends {
		conf := folder(t, map[string]string{
			"dll.conf": "test\n", "test.conf": "number_of_devices 1\nmode " + [2]string{"Gray", "Color"}[i] + "\n",
			"saned.conf": "10.10.0.0/16\n[fd00::]/16\ndata_portrange = 30001 - 30009\n",
		})
		b.Serve("env", "SANE_CONFIG_DIR="+conf, "saned", "-l", "-e", "-d0")
		listens(t, b, 6566)
	}
	installed(t, s, "--config", file(t, yaml))
	conf := folder(t, map[string]string{"dll.conf": "net\n", "net.conf": ""})
	for _, scanner := range scanners {
		got := map[string]int{}
		for range 4 {
			picture, err := s.Client.Try("", "env", "SANE_CONFIG_DIR="+conf, "timeout", "-s", "KILL", "10", "scanimage", "-d", "net:"+scanner+":test:0", "--format=pnm", "--resolution", "50", "-x", "20", "-y", "20")
			if err != nil || len(picture) < 1000 {
				t.Errorf("%s: a picture of %d bytes, %v", scanner, len(picture), err)
				break
			}
			got[picture[:2]]++
		}
		if got["P5"] != 2 || got["P6"] != 2 { // the two send grey and colour
			t.Errorf("%s: %v", scanner, got)
		}
	}
}
