package sqlstore

import (
	"sync"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// setPagesAside gives SQLite memory for the pages of its caches, in pieces of the size that
// it needs. A page with its head is a little more than 4 KiB, and what is asked of the
// allocator comes in powers of two: without this a cache takes twice what it holds.
//
// It is for the whole process, and has to come before the first connection: where something
// else was faster, and where memory is short, all goes on as it does without. What is set
// aside is enough for the connection that writes; pages beyond come from the allocator.
var setPagesAside = sync.OnceFunc(func() {
	const (
		pageSize = 4096
		pages    = ordinaryCache << 10 / pageSize
		rounding = 7 // pieces lie at multiples of 8
	)
	tls := libc.NewTLS()
	defer tls.Close()
	head := libc.Xcalloc(tls, 1, 8)
	list := libc.Xcalloc(tls, 3, 8)
	if head == 0 || list == 0 {
		return
	}
	defer libc.Xfree(tls, head)
	defer libc.Xfree(tls, list)
	if sqlite3.Xsqlite3_config(tls, sqlite3.SQLITE_CONFIG_PCACHE_HDRSZ, libc.VaList(list, head)) != sqlite3.SQLITE_OK {
		return
	}
	piece := (pageSize + libc.AtomicLoadPInt32(head) + rounding) &^ rounding
	memory := libc.Xmalloc(tls, libc.Tsize_t(pages*piece))
	if memory == 0 {
		return
	}
	if sqlite3.Xsqlite3_config(tls, sqlite3.SQLITE_CONFIG_PAGECACHE, libc.VaList(list, memory, piece, int32(pages))) != sqlite3.SQLITE_OK {
		libc.Xfree(tls, memory)
	}
})
