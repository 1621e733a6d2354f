// Package stacks describes the state of a process, its goroutines and memory, as text
// for troubleshooting.
//
// All goroutines stop while the text is produced; the size limit keeps this short.
package stacks

import (
	"bytes"
	"fmt"
	"runtime"
)

// MaxText is the maximum size of the goroutines' text in bytes.
const MaxText = 256 << 10

// Text returns the memory statistics of this process and the stacks of its goroutines,
// truncated to MaxText.
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
