package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/certs/certstest"
)

// elsewhere matches commands of the guide that other tests cover: they do not end, read
// commands, or need a special setup. Examples are an ACME authority, a log file, a directory,
// TOTP codes, an archive of another machine, a cloud, a receiver or addresses. One changes
// the password of this machine's root.
var elsewhere = regexp.MustCompile(`^sluice (run|shell|trace|acme order|logs$|logs shop --follow|user ldap test|user totp (confirm|reset)|user password root|backup upload|cloud|system (ssh|http) |notification (test|webhook test)|.* --watch)`)

// onlyTried matches commands that would change this machine or restore objects the test
// still needs: they are run with --dry-run.
var onlyTried = regexp.MustCompile(`^sluice (system (dns|ntp|snmp|syslog|proxy) |rollback)`)

// secret is the input for commands that read one.
const secret = "Secret-of-the-guide-1"

// Every command of the guide, sluice-guide(7), works as written, in order; those that create
// the farm dns come first.
func TestCommandsOfTheGuideWork(t *testing.T) {
	u := newcomer(t)
	data := filepath.Join(u.dir, "data")
	root := certstest.NewAuthority(t, "root", time.Now())
	leaf := root.Issue("shop.example")
	ports := freePorts(t, 5)
	give := func(name, text string) {
		path := filepath.Join(u.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	give("farm.yaml", fmt.Sprintf(`farms: [{name: shop, profile: http, vip: 127.0.0.1, vport: %d, services: [
		{name: canary}, {name: api}, {name: web, backends: [{ip: 10.0.0.10, port: 8080}, {ip: 10.0.0.11, port: 8080}]}]}]`, ports[0]))
	give("sale.json", `{"comment":"the sale","writes":[{"method":"PUT","path":"/farms/shop","body":{"contimeout":6}},{"method":"POST","path":"/farms/shop/services","body":{"id":"sale"}}]}`)
	give("records.json", `{"resources":[{"rname":"ftp","type":"A","rdata":"192.0.2.21"},{"rname":"@","type":"MX","rdata":"10 ftp","ttl":60}]}`)
	give("shop.yaml", fmt.Sprintf("farms: [{name: shop, profile: http, vip: 127.0.0.1, vport: %d, services: [{name: canary}, {name: api}, {name: web, backends: [{ip: 10.0.0.10, port: 8080}, {ip: 10.0.0.11, port: 8080}]}]}]", ports[0]))
	give("checks.yaml", "checks: []\n")
	give("secret.txt", secret+"\n")
	give("shop.crt", leaf.ChainPEM())
	give("shop.key", leaf.KeyPEM())
	give("store.p12", string(root.Issue("store.example").PKCS12(t, secret)))
	give("password.txt", secret+"\n")
	give("ca.pem", root.CertPEM())
	if err := os.Symlink(program, filepath.Join(u.dir, "bin", "sluice")); err != nil {
		t.Fatal(err)
	}
	start(t, identity{name: "who tests"}, data, "--config", filepath.Join(u.dir, "farm.yaml"))
	give("data/hooks/dns.sh", "#!/bin/sh\n")
	for _, line := range commandsOfTheGuide(t) {
		line = strings.ReplaceAll(line, "vip=192.0.2.10 vport=53", fmt.Sprintf("vip=127.0.0.1 vport=%d", ports[1]))
		line = strings.ReplaceAll(line, "vip=192.0.2.11 vport=53", fmt.Sprintf("vip=127.0.0.1 vport=%d", ports[2]))
		line = strings.ReplaceAll(line, "vip=192.0.2.11 vport=443", fmt.Sprintf("vip=127.0.0.1 vport=%d", ports[3]))
		line = strings.ReplaceAll(line, "shop vport=8443", fmt.Sprintf("shop vport=%d", ports[4]))
		line = strings.ReplaceAll(line, "listener=https vport=8443", fmt.Sprintf("listener=https vport=%d", ports[4]))
		cmd := u.shell(line)
		cmd.Dir, cmd.Stdin = u.dir, strings.NewReader(secret+"\n"+secret+"\n")
		out, err := cmd.CombinedOutput()
		looks := strings.HasPrefix(line, "sluice lint") || strings.HasPrefix(line, "sluice farm lint") || strings.HasPrefix(line, "sluice rehearse")
		if looks && cmd.ProcessState.ExitCode() == 3 {
			err = nil // it has findings, as expected
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
}

// commandsOfTheGuide returns the commands a test can run. Those that create the farm dns
// come first, so that applied documents contain it.
func commandsOfTheGuide(t *testing.T) (out []string) {
	t.Helper()
	page, err := os.ReadFile("../manual/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^(?:\t|    |)(sluice .*)$`).FindAllStringSubmatch(string(page), -1) {
		switch line := m[1]; {
		case elsewhere.MatchString(line):
		case onlyTried.MatchString(line) && !strings.Contains(line, "--dry-run"):
			out = append(out, line+" --dry-run")
		default:
			out = append(out, line)
		}
	}
	if len(out) < 50 {
		t.Fatalf("the guide has %d commands", len(out))
	}
	makes := regexp.MustCompile(`create dns|add dns`)
	first := slices.DeleteFunc(slices.Clone(out), func(line string) bool { return !makes.MatchString(line) })
	return slices.Concat(first, []string{"sluice export >farm.yaml; mkdir farms; cp farm.yaml farms/all.yaml"}, slices.DeleteFunc(out, makes.MatchString))
}
