package e2e_test

import (
	"crypto/x509"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/certs/certstest"
)

// An https farm with default settings passes an audit. The full audit takes two minutes; the
// short run checks protocols, ciphers and server defaults.
func TestTLSAuditFindsNothingAboveLow(t *testing.T) {
	t.Parallel()
	needs(t, "testssl")
	root := certstest.NewAuthority(t, "root", time.Now())
	leaf := root.Issue("shop.example", func(c *x509.Certificate) { c.OCSPServer = []string{"http://ocsp.example/"} })
	who := asOne()
	a := start(t, who, dataDir(t, who))
	url := strings.Replace(a.farm("shop", backend(t, "hello")), "http://127.0.0.1", "https://shop.example", 1)
	a.must("certificate", "upload", "shop", readable(t, leaf.FullPEM()))
	a.must("farm", "set", "shop", "listener=https", "certificates=shop.pem")

	found := filepath.Join(t.TempDir(), "found.json")
	args := append(choose(nil, []string{"--protocols", "--standard", "--server-defaults"}),
		"--warnings", "off", "--color", "0", "--nodns", "none", "--ip", "127.0.0.1", "--add-ca", readable(t, root.CertPEM()), "--jsonfile", found, url)
	said, _ := exec.CommandContext(t.Context(), "testssl", args...).CombinedOutput() // its exit status is the number of findings
	text, err := os.ReadFile(found)
	var findings []struct{ ID, Severity, Finding string }
	if err != nil || json.Unmarshal(text, &findings) != nil {
		t.Fatalf("no findings: %v\n%s", err, said)
	}
	for _, what := range []string{"TLS1_3", "cipherlist_AVERAGE", "cert_chain_of_trust"} { // these checks must have run
		if !strings.Contains(string(text), `"`+what+`"`) {
			t.Errorf("no result for %s:\n%s", what, said)
		}
	}
	for _, f := range findings {
		// Headers for browsers are the backend's task.
		if f.ID != "security_headers" && slices.Contains([]string{"MEDIUM", "HIGH", "CRITICAL", "FATAL"}, f.Severity) {
			t.Errorf("%s: %s: %s", f.Severity, f.ID, f.Finding)
		}
	}
}
