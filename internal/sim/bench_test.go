package sim

import (
	"strconv"
	"strings"
	"testing"
)

func BenchmarkBuildMillion(b *testing.B) {
	for b.Loop() {
		s := open(b, Config{Sources: []string{Crossref}, Records: 1_000_000})
		s.mu.Lock()
		s.populations[Crossref].index()
		s.mu.Unlock()
	}
}

func BenchmarkCrossrefPage(b *testing.B) {
	s := open(b, Config{Sources: []string{Crossref}, Records: 100_000})
	cursor, bytes := "*", 0
	for b.Loop() {
		a := get(s, "/crossref/works", "cursor", cursor, "rows", "1000")
		bytes += a.Body.Len()
		if cursor == "*" {
			cursor = worksList(b, s, "cursor", "*", "rows", "1").Message.NextCursor
		}
		if a.Body.Len() < 10_000 {
			cursor = "*"
		}
	}
	b.SetBytes(int64(bytes / b.N))
}

func BenchmarkPubMedFetch200(b *testing.B) {
	s := open(b, Config{Sources: []string{PubMed}, Records: 5_000})
	var ids []string
	for i := range uint32(200) {
		ids = append(ids, strconv.Itoa(articles{s.populations[PubMed].seed}.pmid(i)))
	}
	list, bytes := strings.Join(ids, ","), 0
	for b.Loop() {
		bytes += get(s, "/pubmed/efetch.fcgi", "db", "pubmed", "id", list).Body.Len()
	}
	b.SetBytes(int64(bytes / b.N))
}

func BenchmarkPubMedSearchDay(b *testing.B) {
	s := open(b, Config{Sources: []string{PubMed}, Records: 50_000})
	for b.Loop() {
		esearch(b, s, "term", "2024/05/20:2024/05/20[mdat]", "retmax", "9999", "sort", "pub_date")
	}
}

func BenchmarkTruth(b *testing.B) {
	s := open(b, Config{Sources: []string{Crossref}, Records: 10_000})
	for b.Loop() {
		for range s.Truth(Crossref) {
		}
	}
}
