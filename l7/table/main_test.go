package table_test

import (
	"testing"

	"github.com/sluicelb/sluice/l7/l7test"
)

func TestMain(m *testing.M) { l7test.Main(m) }

const ok = l7test.OK
