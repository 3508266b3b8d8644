"""VERA-MH: does a chatbot see a person's suicide risk over a whole conversation, and what does it do then?"""
