package control

import (
	"reflect"
	"testing"
)

func TestIncompleteOf_NamesWhatWasNotReadToTheEnd(t *testing.T) {
	got := incompleteOf(SearchRunView{Sources: []SearchSourceRun{
		{Source: "pubmed", Status: SearchCompleted},
		{Source: "biorxiv", Status: SearchFailed, Reason: "does not answer"},
		{Source: "doaj", Status: SearchPartial},
	}})
	want := []IncompleteSource{{"biorxiv", SearchFailed, "does not answer"}, {"doaj", SearchPartial, ""}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
