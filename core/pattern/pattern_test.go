package pattern_test

import (
	"testing"

	"github.com/sluicelb/sluice/core/pattern"
)

func TestPatternIsCompiledLazilyAndOnce(t *testing.T) {
	pattern.Lazy(`(`) // would panic
	p := pattern.Lazy(`^a{2,3}$`)
	if first, second := p(), p(); first != second || !p().MatchString("aa") || p().MatchString("a") {
		t.Error("it is another pattern")
	}
}
