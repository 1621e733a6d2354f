package forward

import "github.com/sluicelb/sluice/core/stats"

// farm and backend are where the loop counts.
func (w *worker) farm(f *farmTable) *stats.Farm     { return w.shard.Farm(f.id) }
func (w *worker) backend(b *backend) *stats.Backend { return w.shard.Backend(b.id) }
