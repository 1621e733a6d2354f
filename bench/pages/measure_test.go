package pages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/bench/proxytest"
	"github.com/sluicelb/sluice/sysnet/housetest"
)

const (
	farms     = 1000
	each      = 10 // backends
	firstPort = 2000
	api       = "127.0.0.1:9100"
	user      = "ann"
	password  = "secret-of-ann-1"
)

func TestMain(m *testing.M) { proxytest.Main(m, nil) }

// figure is one measurement of the browser, in milliseconds, frames or bytes.
type figure struct {
	Name   string
	Value  float64
	Unit   string
	Target float64 // upper bound, or lower bound if Least; 0: none
	Least  bool
}

func TestGUIWithAThousandFarms(t *testing.T) {
	proxytest.Wanted(t)
	machine := housetest.New(t).Namespace("machine")
	data := t.TempDir()
	sluice := proxytest.Find(t, "sluice")
	machine.Serve("env", "SLUICE_LOG=warn", sluice, "run", "--data", data, "--api", api)
	command := func(stdin string, args ...string) {
		t.Helper()
		proxytest.Eventually(t, func() error {
			_, err := machine.Try(stdin, sluice, append(args, "--data", data)...)
			return err
		})
	}
	command("", "status")
	file := filepath.Join(t.TempDir(), "farms.yaml")
	if err := os.WriteFile(file, document(), 0o600); err != nil {
		t.Fatal(err)
	}
	command("", "apply", "--yes", "-f", file)
	command(password+"\n", "user", "create", user)
	command("", "user", "set", user, "webgui_permissions=true")
	command("", "group", "create", "all")
	command("", "group", "role", "all", "administration")
	command("", "group", "add", "all", user)
	for i := range farms {
		command("", "group", "add-farm", "all", name(i))
	}
	out, err := machine.Try("", "env", "GUI_URL=https://"+api, "GUI_USER="+user, "GUI_PASSWORD="+password, "GUI_MINUTES="+os.Getenv("SLUICE_PAGES_MINUTES"),
		"node", "../../web/e2e/figures.mjs")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(out) {
		var f figure
		if json.Unmarshal([]byte(line), &f) != nil {
			t.Log(line)
			continue
		}
		verdict := "reached"
		switch {
		case f.Target == 0:
			verdict = "no target"
		case f.Least == (f.Value < f.Target):
			verdict = "MISSED"
		}
		t.Logf("%-48s %10.1f %-4s  target %6.0f  %s", f.Name, f.Value, f.Unit, f.Target, verdict)
	}
}

func name(i int) string { return fmt.Sprintf("farm%04d", i) }

func document() []byte {
	var text bytes.Buffer
	text.WriteString("farms:\n")
	for i := range farms {
		fmt.Fprintf(&text, "- {name: %s, profile: http, vip: 127.0.0.1, vport: %d, services: [{name: all, backends: [", name(i), firstPort+i)
		for k := range each {
			fmt.Fprintf(&text, "{ip: 127.0.1.%d, port: 8080},", k+1)
		}
		text.WriteString("]}]}\n")
	}
	return text.Bytes()
}
