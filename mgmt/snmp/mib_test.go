package snmp_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// stubs are the modules that SLUICE-MIB imports, reduced to the names it needs, because
// not every machine has them.
var stubs = map[string]string{
	"SNMPv2-SMI": "org OBJECT IDENTIFIER ::= { iso 3 }\ndod OBJECT IDENTIFIER ::= { org 6 }\ninternet OBJECT IDENTIFIER ::= { dod 1 }\n" +
		"private OBJECT IDENTIFIER ::= { internet 4 }\nenterprises OBJECT IDENTIFIER ::= { private 1 }",
	"SNMPv2-TC":   `DisplayString ::= TEXTUAL-CONVENTION DISPLAY-HINT "255a" STATUS current DESCRIPTION "text" SYNTAX OCTET STRING (SIZE (0..255))`,
	"SNMPv2-CONF": "",
	"NET-SNMP-MIB": "IMPORTS enterprises FROM SNMPv2-SMI;\nnetSnmp OBJECT IDENTIFIER ::= { enterprises 8072 }\n" +
		"netSnmpExperimental OBJECT IDENTIFIER ::= { netSnmp 9999 }\nnetSnmpPlaypen OBJECT IDENTIFIER ::= { netSnmpExperimental 9999 }",
}

func translate(t *testing.T, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("snmptranslate"); err != nil {
		t.Skip("snmptranslate is not installed")
	}
	dir := t.TempDir()
	for name, text := range stubs {
		text = name + " DEFINITIONS ::= BEGIN\n" + text + "\nEND\n"
		if err := os.WriteFile(filepath.Join(dir, name+".txt"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	packaging, err := filepath.Abs("../../packaging")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("snmptranslate", append([]string{"-M", dir + ":" + packaging, "-m", "SLUICE-MIB", "-Pu"}, args...)...)
	cmd.Env = append(os.Environ(), "SNMP_PERSISTENT_DIR="+dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// Every exposed value has its name in the MIB.
func TestMIBNamesEveryValue(t *testing.T) {
	for name, want := range map[string]string{
		"sluiceVersion.0": ".1.1.0", "sluiceRevision.0": ".1.2.0", "sluiceRoles.0": ".1.3.0", "sluiceUpTime.0": ".1.4.0",
		"sluiceFarmName.7": ".2.1.1.2.7", "sluiceFarmOpen.7": ".2.1.1.7.7", "sluiceFarmErrors.7": ".2.1.1.12.7",
		"sluiceBackendFarm.7": ".3.1.1.2.7", "sluiceBackendWeight.7": ".3.1.1.7.7", "sluiceBackendErrors.7": ".3.1.1.13.7",
	} {
		if got := translate(t, "-On", "SLUICE-MIB::"+name); got != base+want {
			t.Errorf("%s is %s, want %s", name, got, base+want)
		}
	}
	tree := translate(t, "-Tp", base)
	if n := strings.Count(tree, "-R--"); n != 4+11+12 {
		t.Errorf("%d objects can be read:\n%s", n, tree)
	}
}
