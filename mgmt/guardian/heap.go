package guardian

import (
	"container/heap"
	"time"
)

// queue is a heap of tasks: those that wait for their time, or due ones that wait for their
// turn.
type queue struct {
	list  []*task
	first func(a, b *task) bool
}

func byTime(a, b *task) bool { return a.due.Before(b.due) }

// byPriority puts servers that hang last, so that others do not wait for them. A step of
// priority is worth a second of waiting, so that every task gets its turn.
func byPriority(a, b *task) bool {
	if a.soon != b.soon {
		return a.soon
	}
	return rank(a).Before(rank(b))
}

func rank(t *task) time.Time {
	return t.due.Add(time.Duration(t.settings.EffectivePriority()) * time.Second)
}

// The methods of heap.Interface.

func (q *queue) Len() int           { return len(q.list) }
func (q *queue) Less(i, j int) bool { return q.first(q.list[i], q.list[j]) }
func (q *queue) Swap(i, j int) {
	q.list[i], q.list[j] = q.list[j], q.list[i]
	q.list[i].at, q.list[j].at = i, j
}
func (q *queue) Push(x any) {
	t := x.(*task)
	t.at = len(q.list)
	q.list = append(q.list, t)
}
func (q *queue) Pop() any {
	last := len(q.list) - 1
	t := q.list[last]
	q.list[last] = nil
	q.list = q.list[:last]
	t.at = -1
	return t
}

func (q *queue) put(t *task) { heap.Push(q, t) }

func (q *queue) take() *task { return heap.Pop(q).(*task) }

// drop removes a task, if it is in this queue.
func (q *queue) drop(t *task) {
	if t.at >= 0 && t.at < len(q.list) && q.list[t.at] == t {
		heap.Remove(q, t.at)
	}
}
