package apply_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/mgmt/apply"
)

func TestAChangeThatAFileWouldDiscardWarns(t *testing.T) {
	path := "/etc/sluice/sluice.yaml"
	h := newHouse(t, apply.WithFile(func() string { return path }))
	warned := func(r apply.Result) bool {
		for _, w := range r.Warnings {
			if strings.Contains(w.Message, "from /etc/sluice/sluice.yaml: the next start or reload discards this change") {
				return true
			}
		}
		return false
	}
	if !warned(h.must(add(shop("a", 8080)))) {
		t.Error("no warning")
	}
	if r, err := h.Change(apply.FromFile(context.Background()), root, "", 0, add(shop("b", 8090))); err != nil || warned(r) {
		t.Errorf("change from the file: %+v %v", r.Warnings, err)
	}
	path = ""
	if warned(h.must(add(shop("c", 8091)))) {
		t.Error("without a file there is a warning")
	}
}
