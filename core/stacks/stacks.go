// Package stacks says what a process is doing: its goroutines and its memory, as text,
// for who looks for a fault.
//
// All goroutines stand still while it is written, which the bound keeps short.
package stacks

import (
	"bytes"
	"fmt"
	"runtime"
)

// MaxText bounds the text of the goroutines, in bytes.
const MaxText = 256 << 10

// Text is the memory this process has, and the stacks of all its goroutines, or of as
// many as there is room for.
func Text() string {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	var out bytes.Buffer
	fmt.Fprintf(&out, "goroutines %d\nheap in use %d\nheap idle %d\nheap objects %d\nstacks %d\nobtained %d\ncollections %d\n",
		runtime.NumGoroutine(), m.HeapInuse, m.HeapIdle, m.HeapObjects, m.StackInuse, m.Sys, m.NumGC)
	for _, size := range m.BySize {
		if live := size.Mallocs - size.Frees; live > 0 {
			fmt.Fprintf(&out, "objects of at most %d bytes %d\n", size.Size, live)
		}
	}
	text := make([]byte, MaxText)
	n := runtime.Stack(text, true)
	out.WriteString("\n")
	out.Write(text[:n])
	if n == len(text) {
		out.WriteString("\n[cut here]\n")
	}
	return out.String()
}
