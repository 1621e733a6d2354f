package link_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/link"
)

func TestConnectionsAreListedAndEnded(t *testing.T) {
	c := dial(t, serve(t, &engine{}))
	total, list, err := c.Connections(context.Background(), []uint32{3, 4}, 7)
	if err != nil || total != 10 || len(list) != 7 || !reflect.DeepEqual(list[6], connected(4, 1)) {
		t.Errorf("%d, %+v, %v", total, list, err)
	}
	if total, list, err := c.Connections(context.Background(), nil, 1<<30); err != nil || total != 7 || !reflect.DeepEqual(list, []link.Connection{connected(9, 0)}) {
		t.Errorf("of all: %d, %+v, %v", total, list, err)
	}
	if total, list, err := c.Connections(context.Background(), []uint32{}, 5); err != nil || total != 0 || len(list) != 0 {
		t.Errorf("of none: %d, %+v, %v", total, list, err)
	}
	many := slices.Repeat([]uint32{3}, link.MaxNamed)
	if total, list, err := c.Connections(context.Background(), many, 1<<30); err != nil || total != 5*link.MaxNamed || len(list) != 1000 {
		t.Errorf("of many: %d, %d listed, %v", total, len(list), err)
	}
	for n, backends := range map[int][]uint32{7: nil, 0: {}, 15: {1, 2, 3}} {
		if got, err := c.EndConnections(context.Background(), backends); err != nil || got != n {
			t.Errorf("%v: got %d, %v, want %d", backends, got, err, n)
		}
	}
	if _, _, err := c.Connections(context.Background(), []uint32{666}, 5); err == nil || errors.Is(err, link.ErrGone) {
		t.Errorf("a panic: %v", err)
	}
	if total, _, err := c.Connections(context.Background(), []uint32{3}, 0); err != nil || total != 5 {
		t.Errorf("behind it: got %d, %v, want 5", total, err)
	}
}

func TestEngineReturnsItsStacks(t *testing.T) {
	c := dial(t, serve(t, &engine{}))
	if text, err := c.Stacks(context.Background()); err != nil || !strings.Contains(text, "heap in use ") || !strings.Contains(text, "TestEngineReturnsItsStacks") {
		t.Errorf("%.200q, %v", text, err)
	}
}
