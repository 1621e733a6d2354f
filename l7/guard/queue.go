package guard

import (
	"slices"
	"time"
)

// queue holds jobs by source. The sources take turns, so that one with many jobs delays only
// itself.
type queue struct {
	room, count int
	jobs        map[uint64][]*Job // by source, oldest first; without empty lists
	turns       []uint64          // the sources with jobs, the next one first
}

func newQueue(room int) queue { return queue{room: room, jobs: map[uint64][]*Job{}} }

// add queues a job. If there is no room it returns the latest job of the source with the most,
// which may be the new one.
func (q *queue) add(j *Job) (dropped *Job) {
	if q.count >= q.room {
		longest := q.longest()
		if len(q.jobs[longest]) <= len(q.jobs[j.Source])+1 {
			return j
		}
		dropped = q.removeLast(longest)
	}
	if len(q.jobs[j.Source]) == 0 {
		q.turns = append(q.turns, j.Source)
	}
	q.jobs[j.Source] = append(q.jobs[j.Source], j)
	q.count++
	return dropped
}

// longest returns the source with the most jobs.
func (q *queue) longest() (longest uint64) {
	for source, jobs := range q.jobs {
		if len(jobs) > len(q.jobs[longest]) {
			longest = source
		}
	}
	return longest
}

// removeLast removes the latest job of a source that has several.
func (q *queue) removeLast(source uint64) *Job {
	jobs := q.jobs[source]
	last := jobs[len(jobs)-1]
	jobs[len(jobs)-1] = nil
	q.jobs[source] = jobs[:len(jobs)-1]
	q.count--
	return last
}

// next removes the oldest job of the source whose turn it is, or returns nil.
func (q *queue) next() *Job {
	if len(q.turns) == 0 {
		return nil
	}
	source := q.turns[0]
	q.turns = q.turns[1:]
	jobs := q.jobs[source]
	j := jobs[0]
	q.count--
	if len(jobs) == 1 {
		delete(q.jobs, source)
	} else {
		q.jobs[source] = jobs[1:]
		q.turns = append(q.turns, source)
	}
	return j
}

// before removes and returns the jobs that were queued before t.
func (q *queue) before(t time.Time) (late []*Job) {
	for source, jobs := range q.jobs {
		n := 0
		for n < len(jobs) && jobs[n].since.Before(t) {
			n++
		}
		late = append(late, jobs[:n]...)
		q.count -= n
		if n == len(jobs) {
			delete(q.jobs, source)
		} else {
			q.jobs[source] = jobs[n:]
		}
	}
	if len(late) > 0 {
		q.turns = slices.DeleteFunc(q.turns, func(source uint64) bool { return q.jobs[source] == nil })
	}
	return late
}
