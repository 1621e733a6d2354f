package stacks_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/stacks"
)

func TestATextHasGoroutinesAndMemory(t *testing.T) {
	text := stacks.Text()
	for _, want := range []string{"goroutines ", "heap in use ", "objects of at most ", "TestATextHasGoroutinesAndMemory"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %.300q", want, text)
		}
	}
}

func TestATextOfManyGoroutinesIsCut(t *testing.T) {
	end := make(chan struct{})
	defer close(end)
	for range 5000 {
		go func() { <-end }()
	}
	if text := stacks.Text(); len(text) > stacks.MaxText+16<<10 || !strings.HasSuffix(text, "[cut here]\n") {
		t.Errorf("%d bytes, ending %q", len(text), text[len(text)-40:])
	}
}
