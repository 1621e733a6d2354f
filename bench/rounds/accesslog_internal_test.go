package rounds

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAccessLogLinesAreAwaited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.log")
	l := lineCounter{pattern: path + "*"}
	l.skip() // it does not exist yet
	add := func(text string) {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Error(err)
			return
		}
		defer file.Close()
		if _, err := file.WriteString(text); err != nil {
			t.Error(err)
		}
	}
	add("before\n")
	l.skip()
	add("1\n2\n3")
	done := make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(10 * time.Millisecond)
		add("\n")
	}()
	if err := l.atLeast(context.Background(), 3); err != nil {
		t.Error(err)
	}
	<-done
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	add("a new file\n")
	if n, err := l.count(); n != 1 || err != nil {
		t.Errorf("got %d lines after the log was renamed, %v, want 1", n, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := l.atLeast(ctx, 1); err == nil {
		t.Error("a line that is missing was not missed")
	}
	if err := (&lineCounter{}).atLeast(ctx, 1); err == nil {
		t.Error("a missing log was accepted")
	}
}
