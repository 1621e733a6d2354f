package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAChangeIsConfirmedOrTakenBack(t *testing.T) {
	a := start(t)
	a.must("farm", "create", "shop", "vip=127.0.0.1", "vport=80")
	if out := a.must("pending"); out != "No change is pending.\n" {
		t.Errorf("%q", out)
	}
	out, errs, status := said(a, "farm", "set", "shop", "vport=81", "--confirm", "5m")
	if status != 0 || !strings.Contains(errs, "is reverted at ") || !strings.Contains(errs, "unless you run: sluice confirm") {
		t.Fatalf("%d %s %s", status, out, errs)
	}
	if out := a.must("pending"); !strings.Contains(out, "Revision 2 of root goes back in ") {
		t.Errorf("%q", out)
	}
	if out := a.must("status"); !strings.Contains(out, "Revision 2 of root goes back in ") {
		t.Errorf("%q", out)
	}
	if _, errs, status := said(a, "farm", "set", "shop", "vport=82"); status != 1 || !strings.Contains(errs, "is pending and goes back in") {
		t.Errorf("%d %s", status, errs)
	}
	if _, _, status := said(a, "confirm", "1"); status != 1 {
		t.Error("another revision was confirmed")
	}
	a.must("confirm")
	if out := a.must("pending"); !strings.Contains(out, "No change is pending.\nRevision 2 was confirmed.\n") {
		t.Errorf("%q", out)
	}
	if _, errs, status := said(a, "confirm"); status != 1 || !strings.Contains(errs, "no change is pending") {
		t.Errorf("%d %s", status, errs)
	}
	for _, back := range [][]string{{"pending", "--undo"}, {"rollback"}} {
		a.must("farm", "set", "shop", "vport=83", "--confirm", "1h")
		a.must(back...)
		if out := a.must("farm", "show", "shop"); !strings.Contains(out, "81") {
			t.Errorf("%v: %s", back, out)
		}
	}
	a.must("system", "ssh", "port=2222", "--confirm", "1h")
	a.must("pending", "--undo")
	if _, errs, status := said(a, "farm", "list", "--confirm", "5m"); status != 2 {
		t.Errorf("a question on trial: %d %s", status, errs)
	}
}

func TestATransactionOfAFileIsAllOrNothing(t *testing.T) {
	a := start(t)
	file := filepath.Join(t.TempDir(), "t.json")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const farm = `{"method":"POST","path":"/farms","body":{"farmname":"shop","profile":"http","vip":"127.0.0.1","vport":80}}`
	write(`{"writes":[` + farm + `,{"method":"DELETE","path":"/farms/none"}]}`)
	if _, errs, status := said(a, "transaction", "-f", file); status != 1 || !strings.Contains(errs, "writes[1], DELETE /farms/none") {
		t.Errorf("%d %s", status, errs)
	}
	write(`{"writes":[` + farm + `,{"method":"POST","path":"/farms/shop/services","body":{"id":"web"}}]}`)
	if out := a.must("transaction", "-f", file, "--dry-run"); !strings.Contains(out, "+  - name: shop") || !strings.Contains(out, "Dry run: nothing was changed.") {
		t.Errorf("%s", out)
	}
	if out := a.must("transaction", "-f", file, "--if-revision", "0"); !strings.Contains(out, "Applied as revision 1.") {
		t.Errorf("%s", out)
	}
	if _, _, status := said(a, "transaction", "-f", file, "--if-revision", "x"); status != 2 {
		t.Error("an invalid revision was accepted")
	}
}

func TestTagsStandForRevisions(t *testing.T) {
	a := start(t)
	a.must("farm", "create", "shop", "vip=127.0.0.1", "vport=80")
	a.must("tag", "first", "--comment", "the beginning")
	a.must("farm", "set", "shop", "vport=81")
	a.must("tag", "second", "2")
	if out := a.must("tag"); !strings.Contains(out, "first") || !strings.Contains(out, "the beginning") || !strings.Contains(out, "second") {
		t.Errorf("%s", out)
	}
	if out := a.must("history"); !strings.Contains(out, "[first] create farm shop") {
		t.Errorf("%s", out)
	}
	if out := a.must("diff", "first", "second"); !strings.Contains(out, "+    vport: 81") {
		t.Errorf("%s", out)
	}
	a.must("rollback", "first")
	a.must("tag", "--delete", "second")
	for _, bad := range [][]string{{"rollback", "../x"}, {"diff", "a/b"}, {"tag", "--delete"}, {"tag", "x", "y"}} {
		if _, errs, status := said(a, bad...); status != 2 {
			t.Errorf("%v: %d %s", bad, status, errs)
		}
	}
	if _, errs, status := said(a, "rollback", "second"); status != 1 || !strings.Contains(errs, "there is no such tag") {
		t.Errorf("%d %s", status, errs)
	}
}

func said(a *appliance, args ...string) (out, errs string, status int) {
	r := a.run(args...)
	return r.stdout, r.stderr, r.code
}
